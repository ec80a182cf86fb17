#pragma once
#include "kernels/attention/decode/query.cuh"
#include "kernels/device/mma.cuh"

/// Decode attention's shared memory, and a warp's scores and sums.
namespace kernels::gpu::decode {

/// A warp's tile of keys, or of values.
template <class Kv, int kHeadDim>
struct Tile {
  static constexpr int kRowBytes = static_cast<int>(sizeof(Kv)) * kHeadDim;
  static constexpr int kPieces = kRowBytes / 16;
  static constexpr int kBytes = kTileKeys * kRowBytes;
};

template <int kHeadDim>
struct Shared {
  static constexpr int kWarpBytes = 2 * kStageBytes * kTileKeys * kHeadDim;  // keys and values
  // The sums of a warp are behind the tiles of all warps, so that the next unit's tiles can be
  // loaded while sums are merged. Without room for that, they replace the warp's tiles. Padded
  // against bank conflicts.
  static constexpr int kSumStride = kHeadDim + 4;
  static constexpr int kWarpSums = kMaxGroup * kSumStride;
  __host__ __device__ static constexpr int warp_sums(bool apart) {  // from one warp's to the next's
    return apart ? kWarpSums : kWarpBytes / static_cast<int>(sizeof(float));
  }
  static constexpr int bytes(bool apart) {
    return kWarps * (kWarpBytes + (apart ? kWarpSums * static_cast<int>(sizeof(float)) : 0));
  }
  static_assert(kWarpSums * sizeof(float) <= kWarpBytes, "sums fit");
  static_assert(2 * kDecodeMaxSplits * kMaxGroup <= kWarps * kWarpSums,
                "factors of splits fit there");
};

/// Merges two partial sums of a softmax: x is the largest score, y the sum of weights relative to
/// it. Sums in registers and in shared memory are rounded alike.
struct PartialMerge {
  float of_first, of_second;
  float2 top;

  __device__ PartialMerge(float2 first, float2 second) {
    top.x = fmaxf(first.x, second.x);
    of_first = exp2_fast(first.x - top.x);
    of_second = exp2_fast(second.x - top.x);
    top.y = sum(first.y, second.y);
  }
  __device__ float sum(float first, float second) const {
    return __fmaf_rn(second, of_second, __fmul_rn(first, of_first));
  }
};

/// A warp's share of the result. In rows of scores, a lane's head is lane / 4; in columns of sums,
/// its heads are 2 (lane % 4) and the next. Every run is summed by itself and then added, so that
/// it does not matter which warps have a quarter's runs.
///
/// T is the products' type. Of KV of one byte, ldmatrix gives a lane four neighboring dimensions of
/// a key, and of values two neighboring dimensions of two keys. So the lane's dimensions of a query
/// are as Query::suit_bytes() puts them, and of a sum's 16 dimensions the even ones are the first
/// eight rows.
template <class T, class Kv, int kHeadDim>
struct Heads {
  using S = Shared<kHeadDim>;
  using Tile = decode::Tile<Kv, kHeadDim>;
  static constexpr bool kOneByte = sizeof(Kv) == 1;
  static constexpr float kNone = -INFINITY;

  const std::uint32_t (&query)[kHeadDim / 16][2];  // Query::heads
  float out[kHeadDim / 16][4];                     // [16 dimensions][8 heads] each
  float2 top = {kNone, 0};                // the largest score so far, in powers of 2, and weights
  float run[kHeadDim / 16][4];            // the same of the current run
  float run_top = kNone, run_weight = 0;  // of this lane's keys alone

  __device__ explicit Heads(const std::uint32_t (&query)[kHeadDim / 16][2]) : query(query) {
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k)
      for (int e = 0; e < 4; ++e) out[k][e] = run[k][e] = 0;
  }

  /// The right operands of two products: 16 dimensions of keys 0 to 7, and of the others.
  __device__ static void load_keys(std::uint32_t (&key)[4], std::uint32_t keys, int k) {
    const int lane = threadIdx.x % 32;
    if constexpr (kOneByte) {
      std::uint32_t bytes[2];
      load_matrices(bytes, keys + swizzled<Tile::kRowBytes>(lane % 16, k));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint2 two = widen<T>(bytes[i]);
        key[2 * i] = two.x;
        key[2 * i + 1] = two.y;
      }
    } else {
      load_matrices(
          key, keys + swizzled<Tile::kRowBytes>(lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
    }
  }
  /// The left operand of a product: 16 dimensions of all values.
  __device__ static void load_values(std::uint32_t (&value)[4], std::uint32_t values, int n) {
    const int lane = threadIdx.x % 32;
    if constexpr (kOneByte) {
      std::uint32_t bytes[2];
      load_transposed(bytes, values + swizzled<Tile::kRowBytes>(lane % 16, n));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint2 two = widen<T>(__byte_perm(bytes[i], 0, 0x3120));
        value[2 * i] = two.x;
        value[2 * i + 1] = two.y;
      }
    } else {
      load_transposed(value, values + swizzled<Tile::kRowBytes>(lane % 8 + lane / 16 * 8,
                                                                2 * n + lane / 8 % 2));
    }
  }

  /// Scores of 16 keys: [key / 8][this lane's two].
  __device__ void score(float (&scores)[2][2], std::uint32_t keys) const {
    float sums[2][2][4] = {};  // even and odd k separately: two dependency chains instead of one
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      std::uint32_t key[4];
      load_keys(key, keys, k);
      const std::uint32_t q[4] = {query[k][0], 0u, query[k][1], 0u};
      multiply_add<T>(sums[k % 2][0], q, key[0], key[1]);
      multiply_add<T>(sums[k % 2][1], q, key[2], key[3]);
    }
#pragma unroll
    for (int n = 0; n < 2; ++n)
      for (int e = 0; e < 2; ++e) scores[n][e] = sums[0][n][e] + sums[1][n][e];
  }

  /// Adds 16 keys to the sums of the run; keys from `valid` on are masked.
  __device__ void add(std::uint32_t keys, std::uint32_t values, int valid, float scale_log2) {
    const int lane = threadIdx.x % 32;
    float scores[2][2];
    score(scores, keys);
    float now = run_top;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const bool hidden = 8 * n + 2 * (lane % 4) + e >= valid;
        scores[n][e] = hidden ? kNone : scores[n][e] * scale_log2;
        now = fmaxf(now, scores[n][e]);
      }
    now = quad_max(now);
    const float shrink = exp2_fast(run_top - now);
    run_top = now;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        scores[n][e] = exp2_fast(scores[n][e] - now);
        sum += scores[n][e];
      }
    run_weight = run_weight * shrink + sum;
    accumulate(scores, shrink, values);
  }

  /// The product is [dimension][key] x [key][head]; the weights are its right operand in their
  /// current layout.
  __device__ void accumulate(const float (&weights)[2][2], float shrink, std::uint32_t values) {
    const int lane = threadIdx.x % 32;
    const float shrink_even = __shfl_sync(kAllLanes, shrink, 8 * (lane % 4));
    const float shrink_odd = __shfl_sync(kAllLanes, shrink, 8 * (lane % 4) + 4);
    const std::uint32_t low = pack<T>(weights[0][0], weights[0][1]);
    const std::uint32_t high = pack<T>(weights[1][0], weights[1][1]);
#pragma unroll
    for (int n = 0; n < kHeadDim / 16; ++n) {
      std::uint32_t value[4];
      load_values(value, values, n);
      run[n][0] *= shrink_even;
      run[n][1] *= shrink_odd;
      run[n][2] *= shrink_even;
      run[n][3] *= shrink_odd;
      multiply_add<T>(run[n], value, low, high);
    }
  }

  /// Adds the sums of a run, and begins the next.
  __device__ void end_run() {
    const int lane = threadIdx.x % 32;
    const PartialMerge merge(top, {run_top, quad_sum(run_weight)});
    PartialMerge heads[2] = {merge, merge};  // of this lane's columns
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int row = 8 * (lane % 4) + 4 * e;
      heads[e].of_first = __shfl_sync(kAllLanes, merge.of_first, row);
      heads[e].of_second = __shfl_sync(kAllLanes, merge.of_second, row);
    }
#pragma unroll
    for (int n = 0; n < kHeadDim / 16; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        out[n][e] = heads[e % 2].sum(out[n][e], run[n][e]);
        run[n][e] = 0;
      }
    top = merge.top;
    run_top = kNone;
    run_weight = 0;
  }

  /// Stores the sums as [head][dimension].
  __device__ void leave(float* sums, float2* tops) const {
    const int lane = threadIdx.x % 32;
    if (lane % 4 == 0) tops[lane / 4] = top;
#pragma unroll
    for (int n = 0; n < kHeadDim / 16; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int head = 2 * (lane % 4) + e % 2,
                  dimension = 16 * n + (kOneByte ? 2 * (lane / 4) + e / 2 : lane / 4 + 8 * (e / 2));
        sums[head * S::kSumStride + dimension] = out[n][e];
      }
  }
};

}  // namespace kernels::gpu::decode
