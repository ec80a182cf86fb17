#pragma once
#include "kernels/attention/decode/work.cuh"
#include "kernels/attention/rotation.cuh"

namespace kernels::gpu::decode {

/// The work that append_kv() has left on the heads of query tokens: nothing, to rotate queries and
/// keys, or to add biases (also to values), to normalize and to rotate. Biases and each norm may be
/// absent.
enum class Remaining { nothing, rotation, everything };

/// The query heads of a unit, as left operand of a tensor-core product: lane l has head l / 4.
/// load() and prepare() are apart, so that the next unit's heads and angles arrive while a unit is
/// merged. Biases and weights of norms load in prepare().
template <class T, int kHeadDim, Remaining kRemaining>
struct Query {
  static constexpr int kSteps = kHeadDim / 32;

  std::uint32_t heads[2 * kSteps][2];  // rows 8 to 15 of the product are 0
  float4 cos_sin[kSteps][2];

  __device__ void load(const Arguments& a, const Work& work) {
    const int part = threadIdx.x % 4, group = a.shape.group();
    const T* q = static_cast<const T*>(a.qkv) +
                 std::int64_t{work.query_token} * a.shape.qkv_width() +
                 (work.kv_head * group + head()) * kHeadDim + 2 * part;
#pragma unroll
    for (int k = 0; k < 2 * kSteps; ++k)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        heads[k][half] =
            head() < group ? *reinterpret_cast<const std::uint32_t*>(q + 16 * k + 8 * half) : 0u;
    if (kRemaining == Remaining::nothing) return;
    const float* rotations = a.rotations + std::int64_t{work.query_token} * kHeadDim + 4 * part;
#pragma unroll
    for (int k = 0; k < kSteps; ++k)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        cos_sin[k][half] = *reinterpret_cast<const float4*>(rotations + 32 * k + 16 * half);
  }

  __device__ void prepare(const Arguments& a, const Work& work) {
    if (kRemaining == Remaining::nothing) return;
    const T *bias = nullptr, *weight = nullptr;
    float scale = 1;
    if (kRemaining == Remaining::everything) {
      if (a.bias && head() < a.shape.group())
        bias = static_cast<const T*>(a.bias) +
               (work.kv_head * a.shape.group() + head()) * kHeadDim + 2 * (threadIdx.x % 4);
      if (a.query_norm) {
        weight = static_cast<const T*>(a.query_norm) + 2 * (threadIdx.x % 4);
        scale = head_scale(squares(bias), kHeadDim, a.norm_eps);
      }
    }
#pragma unroll
    for (int i = 0; i < 2 * kSteps; ++i) {
      Four four = biased(i, bias);
      if (weight) four.normalize(load_four(weight + 8 * i, kHeadDim / 2), scale);
      four.rotate(cos_sin[i / 2][i % 2]);
      const uint2 done = four.packed();
      heads[i / 2][i % 2] = done.x;
      heads[i / 2 + kSteps][i % 2] = done.y;
    }
  }

  /// Makes the heads operands of products with keys of one byte: float16, and in this lane four
  /// neighboring dimensions of each 16 in place of two pairs that are eight apart.
  __device__ void suit_bytes() {
    const int part = threadIdx.x % 4, first = threadIdx.x % 32 - part;
#pragma unroll
    for (auto& pairs : heads) {
      const std::uint32_t low = as_product<T, __half>(pairs[0]),
                          high = as_product<T, __half>(pairs[1]);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int from = first + (2 * part + i) % 4;
        const std::uint32_t of_low = __shfl_sync(kAllLanes, low, from),
                            of_high = __shfl_sync(kAllLanes, high, from);
        pairs[i] = part < 2 ? of_low : of_high;
      }
    }
  }

 private:
  using Four = FourDimensions<T>;

  __device__ static int head() { return threadIdx.x % 32 / 4; }

  /// This lane's dimensions from 8 `i` on, with those half a head from them.
  __device__ Four biased(int i, const T* bias) const {
    Four four({heads[i / 2][i % 2], heads[i / 2 + kSteps][i % 2]});
    if (bias) four.add(load_four(bias + 8 * i, kHeadDim / 2));
    return four;
  }
  /// The sum of squares of this lane's head, biases included.
  __device__ float squares(const T* bias) const {
    float sums[2 * kSteps];
#pragma unroll
    for (int i = 0; i < 2 * kSteps; ++i) sums[i] = biased(i, bias).squares();
#pragma unroll
    for (int distance = kSteps; distance > 0; distance /= 2)
#pragma unroll
      for (int i = 0; i < distance; ++i) sums[i] = __fadd_rn(sums[i], sums[i + distance]);
    return quad_sum(sums[0]);
  }
};

}  // namespace kernels::gpu::decode
