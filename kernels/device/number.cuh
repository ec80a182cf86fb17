#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

namespace kernels::gpu {

__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(float x) { return x; }

/// Rounds to nearest even.
template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}

/// Two numbers in one register, the first in the low half.
template <class T>
__device__ inline std::uint32_t pack(float low, float high);
template <>
__device__ inline std::uint32_t pack<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
template <>
__device__ inline std::uint32_t pack<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// The two numbers of such a register.
template <class T>
__device__ inline float2 unpack(std::uint32_t pair) {
  const T* numbers = reinterpret_cast<const T*>(&pair);
  return {to_float(numbers[0]), to_float(numbers[1])};
}

/// Two numbers of KV, the first in the low half. Those of e4m3 are at most 448.
template <class Kv>
using PairOf = std::conditional_t<sizeof(Kv) == 1, std::uint16_t, std::uint32_t>;
template <class Kv>
__device__ inline PairOf<Kv> pack_kv(float low, float high) {
  if constexpr (sizeof(Kv) == 1)
    return __nv_cvt_float2_to_fp8x2({low, high}, __NV_SATFINITE, __NV_E4M3);
  else
    return pack<Kv>(low, high);
}

/// Two numbers of e4m3 as two of T. Exact.
template <class T>
__device__ inline std::uint32_t widen(std::uint16_t bytes) {
  const __half2 pair(__nv_cvt_fp8x2_to_halfraw2(bytes, __NV_E4M3));
  if constexpr (std::is_same_v<T, __half>) return *reinterpret_cast<const std::uint32_t*>(&pair);
  const float2 numbers = __half22float2(pair);
  return pack<T>(numbers.x, numbers.y);
}
/// Four and eight values at once. A register is taken apart as a vector, whose halves cost
/// nothing.
template <class T>
__device__ inline uint2 widen(std::uint32_t bytes) {
  const ushort2 pairs = *reinterpret_cast<const ushort2*>(&bytes);
  return {widen<T>(pairs.x), widen<T>(pairs.y)};
}
template <class T>
__device__ inline uint4 widen(uint2 bytes) {
  const uint2 low = widen<T>(bytes.x), high = widen<T>(bytes.y);
  return {low.x, low.y, high.x, high.y};
}

/// The type in which tensor cores multiply by KV. All numbers of e4m3 are numbers of float16, which
/// takes the fewest instructions; so are weights, to more bits than bfloat16 has.
template <class T, class Kv>
using ProductType = std::conditional_t<sizeof(Kv) == 1, __half, T>;

/// Two numbers of T as two of the product's type. What is beyond float16 becomes its largest
/// number; NaN stays NaN.
template <class T, class Product>
__device__ inline std::uint32_t as_product(std::uint32_t pair) {
  if constexpr (std::is_same_v<T, Product>) return pair;
  constexpr float kMost = 65504;
  const auto limited = [](float x) { return x > kMost ? kMost : x < -kMost ? -kMost : x; };
  const float2 x = unpack<T>(pair);
  return pack<Product>(limited(x.x), limited(x.y));
}

/// Eight numbers in float32, loaded and stored as 16 bytes (as two of them for float32 in memory).
struct Eight {
  float x[8];
};

template <class T>
__device__ inline Eight load8(const T* from) {
  const uint4 raw = *reinterpret_cast<const uint4*>(from);
  const T* numbers = reinterpret_cast<const T*>(&raw);
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) out.x[i] = to_float(numbers[i]);
  return out;
}
template <>
__device__ inline Eight load8<float>(const float* from) {
  const float4 a = reinterpret_cast<const float4*>(from)[0];
  const float4 b = reinterpret_cast<const float4*>(from)[1];
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

template <class T>
__device__ inline void store8(T* to, const Eight& from) {
  const uint4 raw = {pack<T>(from.x[0], from.x[1]), pack<T>(from.x[2], from.x[3]),
                     pack<T>(from.x[4], from.x[5]), pack<T>(from.x[6], from.x[7])};
  *reinterpret_cast<uint4*>(to) = raw;
}
template <>
__device__ inline void store8<__nv_fp8_e4m3>(__nv_fp8_e4m3* to, const Eight& from) {
  ushort4 raw;
  raw.x = pack_kv<__nv_fp8_e4m3>(from.x[0], from.x[1]);
  raw.y = pack_kv<__nv_fp8_e4m3>(from.x[2], from.x[3]);
  raw.z = pack_kv<__nv_fp8_e4m3>(from.x[4], from.x[5]);
  raw.w = pack_kv<__nv_fp8_e4m3>(from.x[6], from.x[7]);
  *reinterpret_cast<ushort4*>(to) = raw;
}
template <>
__device__ inline void store8<float>(float* to, const Eight& from) {
  reinterpret_cast<float4*>(to)[0] = {from.x[0], from.x[1], from.x[2], from.x[3]};
  reinterpret_cast<float4*>(to)[1] = {from.x[4], from.x[5], from.x[6], from.x[7]};
}

__device__ inline void add_to(Eight& sum, const Eight& other) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sum.x[i] += other.x[i];
}

/// Divides to two units in the last place, and gives 0 where 1 + exp(-x) exceeds 2^126. An exact
/// division makes gate and up slower (docs/performance.md).
__device__ inline float silu(float x) { return __fdividef(x, 1.f + __expf(-x)); }

constexpr unsigned kAllLanes = 0xffffffffu;

/// The sum over a warp, in every lane, in a fixed order.
__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}
/// Sum over the four lanes that hold a row of a product's sums.
__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}
__device__ inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

/// The sum over a CTA, in every thread. `shared` has 32 elements and may be reused at once.
__device__ inline float block_sum(float x, float* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  x = warp_sum(x);
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  x = warp_sum(lane < warps ? shared[lane] : 0.f);
  __syncthreads();
  return x;
}

}  // namespace kernels::gpu
