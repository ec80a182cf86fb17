#include "workers/workload/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace workload {
namespace {

/// Fills the generator's state as init_by_array of the Mersenne Twister's reference code does,
/// which is how CPython seeds it: from the words of |seed|, least significant first.
class ArraySeed {
 public:
  using result_type = std::uint32_t;

  explicit ArraySeed(std::int64_t seed) {
    const auto bits = static_cast<std::uint64_t>(seed);
    const std::uint64_t magnitude = seed < 0 ? 0 - bits : bits;
    key_ = {static_cast<std::uint32_t>(magnitude), static_cast<std::uint32_t>(magnitude >> 32)};
    key_length_ = key_[1] != 0 ? 2 : 1;
  }

  template <class Iterator>
  void generate(Iterator begin, Iterator end) const {
    const State state = initial_state();
    std::copy_n(state.begin(), end - begin, begin);
  }

 private:
  static constexpr std::size_t kWords = std::mt19937::state_size;
  using State = std::array<std::uint32_t, kWords>;

  State initial_state() const {
    State state{};
    state[0] = 19650218;
    for (std::size_t i = 1; i < kWords; ++i)
      state[i] = 1812433253U * mixed(state[i - 1]) + static_cast<std::uint32_t>(i);
    std::size_t at = 1;
    for (std::size_t k = 0; k < kWords; ++k) {  // the key is never longer than the state
      const std::size_t j = k % key_length_;
      state[at] =
          (state[at] ^ (mixed(state[at - 1]) * 1664525U)) + key_[j] + static_cast<std::uint32_t>(j);
      advance(state, at);
    }
    for (std::size_t k = 1; k < kWords; ++k) {
      state[at] =
          (state[at] ^ (mixed(state[at - 1]) * 1566083941U)) - static_cast<std::uint32_t>(at);
      advance(state, at);
    }
    state[0] = 0x80000000U;
    return state;
  }

  static std::uint32_t mixed(std::uint32_t word) { return word ^ (word >> 30); }

  static void advance(State& state, std::size_t& at) {
    if (++at < kWords) return;
    state[0] = state[kWords - 1];
    at = 1;
  }

  std::array<std::uint32_t, 2> key_;
  std::size_t key_length_;
};

std::mt19937 seeded(std::int64_t seed) {
  ArraySeed words(seed);
  return std::mt19937(words);
}

double uniform(std::mt19937& generator) {
  const std::uint32_t high = static_cast<std::uint32_t>(generator()) >> 5;  // 27 bits
  const std::uint32_t low = static_cast<std::uint32_t>(generator()) >> 6;   // 26 bits
  return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);            // 2^26, 2^53
}

}  // namespace

Random::Random(std::int64_t seed) : generator_(seeded(seed)) {}

double Random::random() { return uniform(generator_); }

double NumpyRandom::random_sample() { return uniform(generator_); }

double Random::expovariate(double rate) { return -std::log(1.0 - random()) / rate; }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random()));
  return radius * std::cos(2.0 * std::numbers::pi * random());
}

double Random::lognormal(double mu, double sigma) { return std::exp(mu + sigma * normal()); }

std::size_t Random::below(std::size_t count) {
  return static_cast<std::size_t>(random() * static_cast<double>(count));
}

}  // namespace workload
