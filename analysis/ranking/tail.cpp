#include "analysis/ranking/tail.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/ranking/sentences.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

std::string seconds_text(double s) {
  return sweep::formatted(s < 0.1 ? "%.3f" : s < 10 ? "%.2f" : "%.1f", s);
}

/// What is said of one policy and figure: "continuum's p99 TTFT is 1.35 times fcfs's at 6 jobs/s".
std::string worse_text(std::span<const Tail> tails, const std::string& policy, std::size_t figure,
                       const std::string& whose) {
  Texts rates;
  std::vector<Ratio> ratios;
  bool is_everywhere = true;
  std::string fcfs;
  for (const Tail& each : tails) {
    if (each.policy != policy) continue;
    const Tail::Value& value = each.values[figure];
    is_everywhere = is_everywhere && value.is_worse();
    if (!value.is_worse()) continue;
    fcfs = each.fcfs;
    rates.push_back(each.jps);
    ratios.emplace_back().value = value.over_fcfs;
  }
  if (ratios.empty()) return "";
  const std::string where = is_everywhere ? "" : at_rates(rates);
  return whose + " p99 " + std::string(kTailFigures[figure].name) + " is " +
         ratios_text(ratios, " times " + fcfs + "'s") + (where.empty() ? "" : ' ' + where);
}

/// fcfs, or the first variant of it in the row beside `policy`.
const PolicyCells* fcfs_of(const RateRow& row, const PolicyCells& policy) {
  if (const PolicyCells* only = row.fcfs()) return only;
  const auto found = std::ranges::find_if(row.policies, [&](const PolicyCells& each) {
    return &each != &policy && unchanged_variant(each) == "fcfs";
  });
  return found == row.policies.end() ? nullptr : &*found;
}

}  // namespace

Tail tail_of(const RateRow& row, const PolicyCells& policy) {
  const PolicyCells* fcfs = fcfs_of(row, policy);
  Tail tail{policy.variant, row.jps, fcfs != nullptr ? fcfs->variant : "", {}};
  for (std::size_t i = 0; i < kTailFigures.size(); ++i) {
    const BySeed own = by_seed(policy.repeats, kTailFigures[i].figure);
    tail.values[i].s = mean_of(own).value;
    if (fcfs != nullptr)
      tail.values[i].over_fcfs =
          ratio_of(own, by_seed(fcfs->repeats, kTailFigures[i].figure)).value;
  }
  return tail;
}

std::string p99_text(std::span<const Tail> tails) {
  Texts texts;
  for (std::size_t i = 0; i < kTailFigures.size(); ++i) {
    double least = sweep::kNotObserved, most = least;
    for (const Tail& each : tails) {
      least = std::fmin(least, each.values[i].s);
      most = std::fmax(most, each.values[i].s);
    }
    if (!std::isnan(least))
      texts.push_back(std::string(kTailFigures[i].name) + ' ' +
                      from_to(seconds_text(least), seconds_text(most)) + " s");
  }
  if (texts.empty()) return "";
  const bool is_compared = std::ranges::any_of(
      tails, [](const Tail& each) { return each.policy.empty() || !each.fcfs.empty(); });
  return "p99: " + sweep::joined(texts) + (is_compared ? "" : "; no fcfs beside it");
}

std::string worse_text(std::span<const Tail> tails) {
  Texts policies, texts;
  for (const Tail& each : tails) add_once(policies, each.policy);
  for (const std::string& policy : policies) {
    const std::string whose = policies.size() == 1 ? "its" : policy + "'s";
    for (std::size_t i = 0; i < kTailFigures.size(); ++i)
      if (const std::string text = worse_text(tails, policy, i, whose); !text.empty())
        texts.push_back(text);
  }
  return listed(texts);
}

}  // namespace analysis
