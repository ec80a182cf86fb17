#pragma once
#include <cstdlib>
#include <exception>
#include <functional>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

namespace support {

/// Runs seeds 1 to scaled(documented_count), or only the seed in KVSWEEP_FUZZ_SEED. The test fails
/// at the first seed that throws, and prints the seed that reproduces it.
inline void for_each_seed(int documented_count, const std::function<void(std::uint64_t)>& run) {
  const char* one = std::getenv("KVSWEEP_FUZZ_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t count =
      one != nullptr ? 1 : static_cast<std::uint64_t>(scaled(documented_count));
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    try {
      run(seed);
    } catch (const std::exception& error) {
      FAIL("KVSWEEP_FUZZ_SEED=" << seed << ": " << error.what());
    }
  }
  SUCCEED();
}

/// Whether fewer seeds run than documented, too few for each rare event to occur.
inline bool few_seeds() { return stride() > 1 || std::getenv("KVSWEEP_FUZZ_SEED") != nullptr; }

}  // namespace support
