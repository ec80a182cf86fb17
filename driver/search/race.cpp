#include "driver/search/race.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include "sweeps/definition/canonical_json.hpp"

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

/// The value at `share`, in [0, 1), of a key's range or choices.
sweep::Value value_at(const sweep::TuneKey& key, double share) {
  if (!key.choices.empty())
    return key.choices[std::min(
        key.choices.size() - 1,
        static_cast<std::size_t>(share * static_cast<double>(key.choices.size())))];
  const double value = key.least > 0 ? key.least * std::pow(key.most / key.least, share)
                                     : key.least + share * (key.most - key.least);
  if (key.is_integer) return static_cast<std::int64_t>(std::llround(value));
  return std::clamp(sweep::with_three_digits(value), key.least, key.most);
}

double geometric_mean(const analysis::BySeed& scores) {
  double sum = 0;
  for (const auto& [seed, score] : scores) sum += std::log(score);
  return std::exp(sum / static_cast<double>(scores.size()));
}

}  // namespace

const analysis::BySeed& scores_of(const Scores& scores, const std::string& policy) {
  static const analysis::BySeed kNone;
  const auto found = scores.find(policy);
  return found == scores.end() ? kNone : found->second;
}

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
      candidates.push_back(
          {tune.policy + sweep::formatted("-%02zu", candidates.size() + 1), std::move(values)});
  return candidates;
}

std::string leader(std::span<const Entrant> entrants, const Scores& scores) {
  std::string best;
  double least = 0;
  for (const Entrant& each : entrants) {
    const analysis::BySeed& mine = scores_of(scores, each.policy);
    if (!each.is_in() || mine.empty()) continue;
    const double mean = geometric_mean(mine);
    if (!best.empty() && mean >= least) continue;
    best = each.policy;
    least = mean;
  }
  return best;
}

void drop_the_beaten(std::span<Entrant> entrants, const Scores& scores, int seeds) {
  for (Entrant& each : entrants)
    if (each.is_in() && scores_of(scores, each.policy).size() < static_cast<std::size_t>(seeds))
      each.why_out = kLacksResult;
  const std::string best = leader(entrants, scores);
  for (Entrant& each : entrants) {
    if (!each.is_in() || each.policy == best) continue;
    const analysis::Ratio ratio =
        analysis::ratio_of(scores_of(scores, each.policy), scores_of(scores, best));
    if (ratio.interval.low > 1)
      each.why_out = to_text(ratio) + " of " + best + " after " + std::to_string(seeds) + " seeds";
  }
}

std::string to_text(const analysis::Ratio& ratio) {
  return sweep::formatted("%.3f (%.3f to %.3f)", ratio.value, ratio.interval.low,
                          ratio.interval.high);
}

}  // namespace driver
