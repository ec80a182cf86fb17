#pragma once
#include "kernels/device/number.cuh"

/// RMSNorm of a query or key head before its rotation (Qwen3), in float32. Rounded alike in all
/// kernels: first the squares of each two neighboring dimensions and of those half a head from them
/// are added, then those sums over every fourth pair, in a balanced tree that begins with the most
/// distant ones, and then the four that are left, neighbors first.
namespace kernels::gpu {

/// Squares of two neighboring dimensions, and of those half a head from them.
__device__ inline float squares_of(float2 low, float2 high) {
  const float lows = __fmaf_rn(low.y, low.y, __fmul_rn(low.x, low.x));
  return __fmaf_rn(high.y, high.y, __fmaf_rn(high.x, high.x, lows));
}

/// The sum over a head whose pairs are in the first kHeadDim / 4 lanes, in each of them.
template <int kHeadDim>
__device__ inline float sum_over_lanes(float squares) {
  constexpr int kLanes = kHeadDim / 4;
  constexpr unsigned kHead = kAllLanes >> (32 - kLanes);
#pragma unroll
  for (int distance = kLanes / 2; distance >= 4; distance /= 2)
    squares = __fadd_rn(squares, __shfl_xor_sync(kHead, squares, distance));
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2)
    squares = __fadd_rn(squares, __shfl_xor_sync(kHead, squares, distance));
  return squares;
}

/// The factor for a head with this sum of squares, besides the norm's weight.
__device__ inline float head_scale(float squares, int head_dim, float epsilon) {
  return rsqrtf(__fadd_rn(squares / static_cast<float>(head_dim), epsilon));
}

__device__ inline float normalized(float x, float weight, float scale) {
  return __fmul_rn(x, __fmul_rn(scale, weight));
}

}  // namespace kernels::gpu
