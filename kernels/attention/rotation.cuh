#pragma once
#include "kernels/attention/head_norm.cuh"

/// Rotary embedding (arXiv 2104.09864) of two dimensions of a head, half a head apart.
namespace kernels::gpu {

/// `cos_sin`: cosine and sine. Rounded alike in all kernels, whatever the compiler would fuse.
__device__ inline void rotate(float& low, float& high, float2 cos_sin) {
  const float x = low, y = high;
  low = __fmaf_rn(x, cos_sin.x, -__fmul_rn(y, cos_sin.y));
  high = __fmaf_rn(y, cos_sin.x, __fmul_rn(x, cos_sin.y));
}

/// Adds the biases of two dimensions, if there are any.
template <class T>
__device__ inline void add_bias(float2& to, const T* bias) {
  if (!bias) return;
  const float2 by = unpack<T>(*reinterpret_cast<const std::uint32_t*>(bias));
  to = {to.x + by.x, to.y + by.y};
}

/// Two neighboring dimensions of a head of `kHeadDim`, and those half a head from them.
template <class T, int kHeadDim>
struct FourDimensions {
  float2 low, high;

  /// From registers. `bias`: of the first, or none.
  __device__ FourDimensions(std::uint32_t lows, std::uint32_t highs, const T* bias)
      : low(unpack<T>(lows)), high(unpack<T>(highs)) {
    add_bias(low, bias);
    add_bias(high, bias ? bias + kHeadDim / 2 : nullptr);
  }
  __device__ float squares() const { return squares_of(low, high); }
};

/// Adds biases to two neighboring dimensions of a head of `kHeadDim`, in a register, and to those
/// half a head from them, normalizes and rotates them. `bias`: of the first, or none.
template <class T, int kHeadDim>
__device__ inline void rotate_two(std::uint32_t& lows, std::uint32_t& highs, const T* bias,
                                  const HeadNorm<T>& norm, float4 cos_sin) {
  auto [low, high] = FourDimensions<T, kHeadDim>(lows, highs, bias);
  normalize(low, norm, 0);
  normalize(high, norm, kHeadDim / 2);
  rotate(low.x, high.x, {cos_sin.x, cos_sin.y});
  rotate(low.y, high.y, {cos_sin.z, cos_sin.w});
  lows = pack<T>(low.x, low.y);
  highs = pack<T>(high.x, high.y);
}

}  // namespace kernels::gpu
