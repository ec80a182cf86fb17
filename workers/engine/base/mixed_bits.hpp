#pragma once
#include <cstdint>

namespace engine {

/// SplitMix64's finalizer (Steele, Lea, Flood 2014): every output bit depends on every input bit.
constexpr std::uint64_t mixed_bits(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

}  // namespace engine
