#pragma once
#include "kernels/attention/prefill/work.cuh"
#include "kernels/device/mma.cuh"

/// Parts of prefill attention: a CTA's shared memory, and a warp's rows of scores and sums.
/// attention.cu combines them.
namespace kernels::gpu::prefill {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kBands = kRows / kWarps / 16;  // 16-row fragments per warp
constexpr int kTileKeys = 48;
constexpr int kFragments = kTileKeys / 8;  // fragments of scores along the keys

template <int kHeadDim>
struct Shared {
  static constexpr int kRowBytes = 2 * kHeadDim;
  static constexpr int kPieces = kRowBytes / 16;
  static constexpr int kTileBytes = kTileKeys * kRowBytes;
  static constexpr int kQueryBytes = kRows * kRowBytes;
  static constexpr int kBytes = kQueryBytes + 4 * kTileBytes;  // Q, two tiles of K, two of V
  static __device__ std::uint32_t keys(std::uint32_t base, int buffer) {
    return base + kQueryBytes + buffer * 2 * kTileBytes;
  }
  static __device__ std::uint32_t values(std::uint32_t base, int buffer) {
    return keys(base, buffer) + kTileBytes;
  }
};

constexpr float kNoScore = -INFINITY;

/// A step of online softmax for one of this lane's two rows: replaces the tile's scores by weights
/// relative to the new maximum, and adds them to `weight`. Returns the factor of the sums so far.
/// `top`: the largest score so far, not scaled; `weight`: this lane's partial sum of weights.
template <int kCount>
__device__ inline float softmax_row(float (&scores)[kCount][4], int half, float& top, float& weight,
                                    float scale_log2) {
  const float before = top;
  float now = before;
#pragma unroll
  for (int n = 0; n < kCount; ++n)
    now = fmaxf(now, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
  now = quad_max(now);
  top = now;
  const float shrink = exp2_fast(__fmul_rn(__fsub_rn(before, now), scale_log2));
  const float offset = __fmul_rn(-now, scale_log2);
  float sum = 0;
#pragma unroll
  for (int n = 0; n < kCount; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& x = scores[n][2 * half + e];
      x = exp2_fast(__fmaf_rn(x, scale_log2, offset));
      sum = __fadd_rn(sum, x);
    }
  weight = __fmaf_rn(weight, shrink, sum);
  return shrink;
}

/// The rows of one warp, in bands of 16 rows: a lane holds row lane / 4 of each band and the row 8
/// below.
template <class T, int kHeadDim>
struct Rows {
  using S = Shared<kHeadDim>;

  float out[kBands][kHeadDim / 8][4];
  float scores[kBands][kFragments][4];
  float top[kBands][2];     // the largest score so far, not scaled
  float weight[kBands][2];  // this lane's partial sum of weights

  __device__ explicit Rows(std::uint32_t queries) {
    const int lane = threadIdx.x % 32;
    query_lane = queries + swizzled<S::kRowBytes>(first_row() + lane % 16, lane / 16);
    key_lane = swizzled<S::kRowBytes>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    value_lane = swizzled<S::kRowBytes>(lane % 16, lane / 16);
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      for (int half = 0; half < 2; ++half) {
        top[band][half] = kNoScore;
        weight[band][half] = 0;
      }
#pragma unroll
      for (int n = 0; n < kHeadDim / 8; ++n)
        for (float& x : out[band][n]) x = 0;
    }
  }

  // A lane's addresses in swizzled tiles. Rows start at multiples of their size and pieces are
  // permuted by exclusive or, so the address of the pair of pieces 2 p further is `^ pair(p)`.
  std::uint32_t query_lane, key_lane, value_lane;
  __device__ static constexpr std::uint32_t pair(int p) {
    return static_cast<std::uint32_t>(p) << 5;
  }

  __device__ static int first_row() { return threadIdx.x / 32 * (16 * kBands); }

  __device__ void score(std::uint32_t keys) {
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int n = 0; n < kFragments; ++n)
        for (float& x : scores[band][n]) x = 0;
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      std::uint32_t q[kBands][4];
#pragma unroll
      for (int band = 0; band < kBands; ++band)
        load_matrices(q[band], (query_lane ^ pair(k)) + 16 * band * S::kRowBytes);
#pragma unroll
      for (int n = 0; n < kFragments / 2; ++n) {
        std::uint32_t key[4];
        load_matrices(key, ((keys + key_lane) ^ pair(k)) + 16 * n * S::kRowBytes);
#pragma unroll
        for (int band = 0; band < kBands; ++band) {
          multiply_add<T>(scores[band][2 * n], q[band], key[0], key[1]);
          multiply_add<T>(scores[band][2 * n + 1], q[band], key[2], key[3]);
        }
      }
    }
  }

  /// Masks the keys of this tile that are behind a row's own position.
  __device__ void mask(const Work& work, int first_key) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row() + 16 * band + 8 * half + lane / 4;
        const int visible = work.position + work.rows.token(row) - first_key - 2 * (lane % 4);
#pragma unroll
        for (int n = 0; n < kFragments; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (8 * n + e > visible) scores[band][n][2 * half + e] = kNoScore;
      }
  }

  /// Converts scores to weights relative to the new maximum, and rescales the sums so far.
  __device__ void softmax(float scale_log2) {
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float shrink =
            softmax_row(scores[band], half, top[band][half], weight[band][half], scale_log2);
#pragma unroll
        for (int n = 0; n < kHeadDim / 8; ++n) {
          out[band][n][2 * half] = __fmul_rn(out[band][n][2 * half], shrink);
          out[band][n][2 * half + 1] = __fmul_rn(out[band][n][2 * half + 1], shrink);
        }
      }
  }

  /// out += weights * values. The weights are in the layout in which mma leaves scores, which is
  /// also the layout of its left operand.
  __device__ void accumulate(std::uint32_t values) {
#pragma unroll
    for (int k = 0; k < kTileKeys / 16; ++k) {
      std::uint32_t p[kBands][4];
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
        const float(&low)[4] = scores[band][2 * k];
        const float(&high)[4] = scores[band][2 * k + 1];
        p[band][0] = pack<T>(low[0], low[1]);
        p[band][1] = pack<T>(low[2], low[3]);
        p[band][2] = pack<T>(high[0], high[1]);
        p[band][3] = pack<T>(high[2], high[3]);
      }
#pragma unroll
      for (int n = 0; n < kHeadDim / 16; ++n) {
        std::uint32_t value[4];
        load_transposed(value, ((values + value_lane) ^ pair(n)) + 16 * k * S::kRowBytes);
#pragma unroll
        for (int band = 0; band < kBands; ++band) {
          multiply_add<T>(out[band][2 * n], p[band], value[0], value[1]);
          multiply_add<T>(out[band][2 * n + 1], p[band], value[2], value[3]);
        }
      }
    }
  }

  /// Divides by the sums of weights and stores the rows in place of the warp's queries.
  __device__ void finish(unsigned char* queries) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float factor = __fdividef(1.f, quad_sum(weight[band][half]));
        const int row = first_row() + 16 * band + 8 * half + lane / 4;
#pragma unroll
        for (int n = 0; n < kHeadDim / 8; ++n)
          *reinterpret_cast<std::uint32_t*>(queries + swizzled<S::kRowBytes>(row, n) +
                                            4 * (lane % 4)) =
              pack<T>(out[band][n][2 * half] * factor, out[band][n][2 * half + 1] * factor);
      }
  }
};

}  // namespace kernels::gpu::prefill
