#pragma once
#include "kernels/device/number.cuh"

/// RMSNorm of a query or key head before its rotation (Qwen3), in float32. Rounded alike in all
/// kernels, with h = head_dim / 2, the first product rounded and the others added by fma:
///   s[i] = x[2i]^2 + x[2i + 1]^2 + x[h + 2i]^2 + x[h + 2i + 1]^2   i < head_dim / 4
///   s[i] += s[i ^ d] for all i at once                             d = head_dim / 8 ... 8, 4; 1, 2
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
