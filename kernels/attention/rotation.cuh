#pragma once
#include "kernels/attention/head_norm.cuh"

/// Rotary embedding (arXiv 2104.09864) of two dimensions of a head, half a head apart; and four
/// dimensions of a head in a lane, with their biases, norm and rotation.
namespace kernels::gpu {

/// `cos_sin`: cosine and sine. Rounded alike in all kernels, whatever the compiler would fuse.
__device__ inline void rotate(float& low, float& high, float2 cos_sin) {
  const float x = low, y = high;
  low = __fmaf_rn(x, cos_sin.x, -__fmul_rn(y, cos_sin.y));
  high = __fmaf_rn(y, cos_sin.x, __fmul_rn(x, cos_sin.y));
}

/// Loads two neighboring dimensions of a head, of 16 bits each, as x, and those half a head from
/// them as y. `first`: the first dimension in device memory.
template <class T>
__device__ inline uint2 load_four(const T* first, int half_head) {
  return {*reinterpret_cast<const std::uint32_t*>(first),
          *reinterpret_cast<const std::uint32_t*>(first + half_head)};
}

/// The four dimensions of load_four() in float32.
template <class T>
struct FourDimensions {
  float2 low, high;

  __device__ explicit FourDimensions(uint2 raw) : low(unpack<T>(raw.x)), high(unpack<T>(raw.y)) {}
  __device__ void add(uint2 raw) {
    const FourDimensions other(raw);
    low = {low.x + other.low.x, low.y + other.low.y};
    high = {high.x + other.high.x, high.y + other.high.y};
  }
  __device__ float squares() const { return squares_of(low, high); }
  /// `scale`: head_scale().
  __device__ void normalize(uint2 raw_weights, float scale) {
    const FourDimensions weights(raw_weights);
    low = {normalized(low.x, weights.low.x, scale), normalized(low.y, weights.low.y, scale)};
    high = {normalized(high.x, weights.high.x, scale), normalized(high.y, weights.high.y, scale)};
  }
  __device__ void rotate(float4 cos_sin) {
    gpu::rotate(low.x, high.x, {cos_sin.x, cos_sin.y});
    gpu::rotate(low.y, high.y, {cos_sin.z, cos_sin.w});
  }
  __device__ uint2 packed() const { return {pack<T>(low.x, low.y), pack<T>(high.x, high.y)}; }
};

}  // namespace kernels::gpu
