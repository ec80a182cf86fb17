#pragma once
#include <cstdint>

#include "kernels/mixed_bits.hpp"

namespace kernels {

/// Element `element` of parameter `parameter` of a model with random weights, a pure function of
/// its arguments on host and device alike.
KERNELS_HOST_DEVICE inline float random_weight(std::uint64_t seed, std::uint32_t parameter,
                                               std::uint64_t element, float amplitude) {
  const std::uint64_t z =
      mixed_bits(seed * 0x9e3779b97f4a7c15u + (std::uint64_t{parameter} << 40) + element);
  // 24 bits as an odd multiple of 2^-24 in (-1, 1): exact in float32, and never zero.
  const auto bits = static_cast<std::int32_t>(z >> 40);
  return static_cast<float>(2 * bits + 1 - (1 << 24)) * (amplitude / (1 << 24));
}

}  // namespace kernels
