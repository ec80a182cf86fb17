#pragma once
#include <cstdint>

#include "kernels/kv_layout.hpp"

namespace kernels {

/// Element `element` of parameter `parameter` of a model with random weights: uniform in
/// (-amplitude, amplitude), a pure function of its arguments on host and device alike. The bits are
/// SplitMix64's finalizer over a counter (Steele, Lea, Flood 2014).
KERNELS_HOST_DEVICE inline float random_weight(std::uint64_t seed, std::uint32_t parameter,
                                               std::uint64_t element, float amplitude) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + (std::uint64_t{parameter} << 40) + element;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  // 24 bits as an odd multiple of 2^-24 in (-1, 1): exact in float32, and never zero.
  const auto bits = static_cast<std::int32_t>(z >> 40);
  return static_cast<float>(2 * bits + 1 - (1 << 24)) * (amplitude / (1 << 24));
}

}  // namespace kernels
