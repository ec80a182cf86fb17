#pragma once
#include <cstdint>
#include <cstring>

namespace kernels {

/// The upper half of a float32: 8 bits of exponent, 7 of mantissa.
struct Bf16 {
  std::uint16_t bits;
};
/// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
struct F16 {
  std::uint16_t bits;
};

/// OCP FP8 E4M3: 4 bits of exponent, 3 of mantissa, no infinities; the largest number is 448.
struct E4m3 {
  std::uint8_t bits;
};

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) { return float_of(std::uint32_t{x.bits} << 16); }
inline float to_float(F16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // The exponent's bias differs by 112; as a factor, that also gives subnormals their value.
  return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

inline float to_float(E4m3 x) {
  const std::uint32_t sign = (x.bits & 0x80u) << 24;
  const std::uint32_t magnitude = x.bits & 0x7fu;
  if (magnitude == 0x7f) return float_of(sign | 0x7fc00000u);
  return float_of(sign | bits_of(float_of(magnitude << 20) * 0x1p120f));  // as above
}

/// Conversions round to nearest, ties to even. NaN stays NaN; a magnitude beyond the range becomes
/// infinity, or the largest number of E4m3.
template <class T>
T from_float(float x);

template <>
inline float from_float<float>(float x) {
  return x;
}

template <>
inline Bf16 from_float<Bf16>(float x) {
  const std::uint32_t bits = bits_of(x);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  // A NaN with its payload in the lower half alone must not become infinity.
  if (nan) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

template <>
inline F16 from_float<F16>(float x) {
  const std::uint32_t sign = bits_of(x) >> 16 & 0x8000u;
  const std::uint32_t bits = bits_of(x) & 0x7fffffffu;
  std::uint32_t half = 0;
  if (bits > 0x7f800000u) {
    half = 0x7e00u | (bits >> 13 & 0x3ffu);
  } else if (bits >= 0x47800000u) {  // 2^16 and more
    half = 0x7c00u;
  } else if (bits < 0x38800000u) {  // below 2^-14
    // A float32 in [0.5, 1) counts units of 2^-24, as half-precision subnormals do: the addition
    // rounds.
    half = bits_of(float_of(bits) + 0.5f) - bits_of(0.5f);
  } else {
    half = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

template <>
inline E4m3 from_float<E4m3>(float x) {
  const std::uint32_t sign = bits_of(x) >> 24 & 0x80u;
  const std::uint32_t bits = bits_of(x) & 0x7fffffffu;
  std::uint32_t byte = 0;
  if (bits > 0x7f800000u) {
    byte = 0x7fu;
  } else if (bits > 0x43e00000u) {  // 448
    byte = 0x7eu;
  } else if (bits < 0x3c800000u) {  // below 2^-6
    // A float32 in [2^14, 2^15) counts units of 2^-9, as subnormals of E4m3 do: the addition
    // rounds.
    byte = bits_of(float_of(bits) + 0x1p14f) - bits_of(0x1p14f);
  } else {
    byte = (bits - (120u << 23) + 0x7ffffu + (bits >> 20 & 1u)) >> 20;
  }
  return {static_cast<std::uint8_t>(sign | byte)};
}

}  // namespace kernels
