#include "driver/tune/candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <set>

#include "sweeps/spec/canonical_json.hpp"

namespace driver {
namespace {

using Random = std::mt19937_64;  // the same numbers with every compiler

/// In [0, 1), from the upper 53 bits.
double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// 0 to n - 1 in random order.
std::vector<int> shuffled(int n, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(uniform(random) * static_cast<double>(i))]);
  return order;
}

double with_three_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return std::strtod(text.data(), nullptr);
}

/// The value at `share`, in [0, 1), of a key's range or choices.
sweep::Value value_at(const sweep::TuneKey& key, double share) {
  if (!key.choices.empty())
    return key.choices[std::min(
        key.choices.size() - 1,
        static_cast<std::size_t>(share * static_cast<double>(key.choices.size())))];
  const double value = key.least > 0 ? key.least * std::pow(key.most / key.least, share)
                                     : key.least + share * (key.most - key.least);
  if (key.is_integer) return static_cast<std::int64_t>(std::llround(value));
  return std::clamp(with_three_digits(value), key.least, key.most);
}

std::string name_of(const std::string& policy, std::size_t number) {
  return policy + (number < 10 ? "-0" : "-") + std::to_string(number);
}

}  // namespace

std::vector<Candidate> draw_candidates(const sweep::TuneSpec& tune) {
  Random random(static_cast<std::uint64_t>(tune.seed));
  std::vector<sweep::ParamMap> drawn(static_cast<std::size_t>(tune.candidates));
  for (const sweep::TuneKey& key : tune.keys) {
    const std::vector<int> parts = shuffled(tune.candidates, random);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const double share = (parts[i] + uniform(random)) / tune.candidates;
      drawn[i][key.key] = {value_at(key, share), tune.where};
    }
  }
  std::vector<Candidate> candidates;
  std::set<std::string> known;
  for (sweep::ParamMap& values : drawn)
    if (known.insert(sweep::canonical_json(values)).second)
      candidates.push_back({name_of(tune.policy, candidates.size() + 1), std::move(values)});
  return candidates;
}

}  // namespace driver
