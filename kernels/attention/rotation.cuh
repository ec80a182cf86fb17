#pragma once
#include "kernels/device/number.cuh"

/// Rotary embedding (arXiv 2104.09864) of two dimensions of a head, half a head apart.
namespace kernels::gpu {

/// `turn`: cosine and sine. Rounded alike in all kernels, whatever the compiler would fuse.
__device__ inline void rotate(float& low, float& high, float2 turn) {
  const float x = low, y = high;
  low = __fmaf_rn(x, turn.x, -__fmul_rn(y, turn.y));
  high = __fmaf_rn(y, turn.x, __fmul_rn(x, turn.y));
}

/// The same of two neighboring dimensions, in a register, and those half a head from them.
template <class T>
__device__ inline void rotate_two(std::uint32_t& lows, std::uint32_t& highs, float4 turns) {
  float2 low = unpack<T>(lows), high = unpack<T>(highs);
  rotate(low.x, high.x, {turns.x, turns.y});
  rotate(low.y, high.y, {turns.z, turns.w});
  lows = pack<T>(low.x, low.y);
  highs = pack<T>(high.x, high.y);
}

}  // namespace kernels::gpu
