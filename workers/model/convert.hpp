#pragma once
// Scalars of weights, activations and KV as bits, and their conversion from and to float32.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "workers/model/config.hpp"

namespace model {

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// Rounds to nearest even; a NaN stays a NaN.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// IEEE 754 binary16, subnormals included.
inline float from_f16(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00)  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // The exponent's bias differs by 112; as a factor, that also gives subnormals their value.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

/// Rounds to nearest even; from 65520 on the result is infinite; a NaN stays a NaN.
inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below 2^-14 halves are multiples of 2^-24, as are floats in [0.5, 1): adding 0.5 rounds.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000));
  }
  const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

/// Converts every scalar of `in`, rounding to nearest even; values beyond the range of float16
/// become infinite. `in` and `out` hold the same number of scalars, at any alignment, and do not
/// overlap.
void convert(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out);

}  // namespace model
