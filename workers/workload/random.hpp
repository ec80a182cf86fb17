#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "workers/engine/base/mixed_bits.hpp"

namespace workload {

using engine::mixed_bits;

/// The random numbers of workloads and arrivals: those of CPython's `random.Random(seed)` for an
/// integer seed (by its absolute value), so that published arrival times can be replayed. The draws
/// are implemented here, because the standard distributions differ between libraries. They differ
/// at most by the last bit of the C library's log, exp and cos.
class Random {
 public:
  explicit Random(std::int64_t seed);

  /// Uniform in [0, 1) with 53 bits.
  double random();
  /// Exponential with mean 1 / rate. The rate is positive.
  double expovariate(double rate);
  /// Normal with mean 0 and standard deviation 1 (Box-Muller; two uniforms per draw).
  double normal();
  /// exp of a normal with this mean and standard deviation.
  double lognormal(double mu, double sigma);
  /// Uniform in 0 .. count - 1; count is positive and below 2^53.
  std::size_t below(std::size_t count);

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937 generator_;
};

/// The uniform numbers of numpy's RandomState(seed): the generator of Random, seeded by one word
/// instead of CPython's array.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : generator_(seed) {}

  /// Uniform in [0, 1) with 53 bits, from two draws.
  double random_sample();

 private:
  std::mt19937 generator_;
};

}  // namespace workload
