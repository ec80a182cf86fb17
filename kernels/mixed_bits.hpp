#pragma once
#include <cstdint>

#include "kernels/kv_layout.hpp"

namespace kernels {

/// SplitMix64's finalizer (Steele, Lea, Flood 2014).
KERNELS_HOST_DEVICE inline std::uint64_t mixed_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace kernels
