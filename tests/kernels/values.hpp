#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

namespace kernel_test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<std::int32_t>;

inline std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

/// Values in (-1, 1) from one seed, the same with every standard library.
class Values {
 public:
  explicit Values(std::uint64_t seed) : bits_(seed) {}
  float one() { return static_cast<float>(bits_() >> 40) * 0x1p-23f - 1; }
  Floats many(int count) {
    Floats all(static_cast<std::size_t>(count));
    for (float& x : all) x = one();
    return all;
  }
  int below(int limit) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(limit)); }
  /// The numbers from 1 to `count` in random order.
  Ints shuffled(int count) {
    Ints all;
    for (int i = 1; i <= count; ++i) all.push_back(i);
    for (int i = count; i > 1; --i)
      std::swap(all[static_cast<std::size_t>(i - 1)], all[static_cast<std::size_t>(below(i))]);
    return all;
  }

 private:
  std::mt19937_64 bits_;
};

/// Fails unless every element is within `tolerance` of the expected one. Elements are of order 1.
inline void check_close(const Floats& found, const Doubles& expected, double tolerance = 1e-5) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::abs(found[i] - expected[i]) <= tolerance) continue;
    FAIL("element " << i << ": found " << found[i] << ", expected " << expected[i]);
  }
  SUCCEED();
}

}  // namespace kernel_test
