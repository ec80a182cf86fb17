#pragma once
#include <cstdint>

#include "kernels/mixed_bits.hpp"

namespace kernels {

/// Distributions of random weights, all but the zeros of equal variance.
enum class Distribution : std::uint8_t {
  uniform,       // in (-amplitude, amplitude)
  normal,        // nearly: the sum of four uniform values
  heavy_tailed,  // the same, one element in 64 being eight times as wide as the others
  zeros,
};

/// Nearly normal, of variance amplitude^2 / 3. Sums of integers are exact.
KERNELS_HOST_DEVICE inline float nearly_normal(std::uint64_t bits, float amplitude) {
  std::int32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<std::int32_t>(bits >> (16 * i) & 0xffffu);
  return static_cast<float>(2 * sum + 4 - (1 << 18)) * (amplitude / (1 << 17));
}

/// Element `element` of parameter `parameter` of a model with random weights, a pure function of
/// its arguments on host and device alike.
KERNELS_HOST_DEVICE inline float random_weight(std::uint64_t seed, std::uint32_t parameter,
                                               std::uint64_t element, float amplitude,
                                               Distribution distribution = Distribution::uniform) {
  const std::uint64_t z =
      mixed_bits(seed * 0x9e3779b97f4a7c15u + (std::uint64_t{parameter} << 40) + element);
  if (distribution == Distribution::zeros) return 0;
  if (distribution == Distribution::normal) return nearly_normal(z, amplitude);
  if (distribution == Distribution::heavy_tailed) {
    // 63/64 s^2 + 1/64 (8 s)^2 = 1
    constexpr float kScale = 0.70993f;
    const bool wide = mixed_bits(~z) >> 58 == 0;
    return nearly_normal(z, amplitude * (wide ? 8 * kScale : kScale));
  }
  // 24 bits as an odd multiple of 2^-24 in (-1, 1): exact in float32, and never zero.
  const auto bits = static_cast<std::int32_t>(z >> 40);
  return static_cast<float>(2 * bits + 1 - (1 << 24)) * (amplitude / (1 << 24));
}

}  // namespace kernels
