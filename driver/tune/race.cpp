#include "driver/tune/race.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace driver {
namespace {

double geometric_mean(const analysis::BySeed& scores) {
  double sum = 0;
  for (const auto& [seed, score] : scores) sum += std::log(score);
  return std::exp(sum / static_cast<double>(scores.size()));
}

/// The policy's scores, none if it has not run.
const analysis::BySeed& scores_of(const Scores& scores, const std::string& policy) {
  static const analysis::BySeed kNone;
  const auto found = scores.find(policy);
  return found == scores.end() ? kNone : found->second;
}

}  // namespace

int seeds_of_next_round(int seeds, int most) {
  return std::min(most, seeds == 0 ? 3 : seeds + std::max(2, seeds / 2));
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
      each.why_out = "a cell has no result";
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
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f (%.3f to %.3f)", ratio.value, ratio.interval.low,
                ratio.interval.high);
  return text.data();
}

}  // namespace driver
