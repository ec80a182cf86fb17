#include "analysis/compare/decision.hpp"

#include <algorithm>
#include <cmath>

namespace analysis {
namespace {

constexpr double kEqual = 0.01;  // smaller relative differences do not count
constexpr double kSignificance = 0.05;

/// The other contenders of a family with their ratios to the best one.
struct Rival {
  std::size_t at;
  Ratio to_best;
};

/// Holm's rule: the k-th smallest of m p-values counts m - k + 1 fold, and no less than a smaller
/// one.
void adjust(std::vector<Rival>& rivals) {
  std::vector<double*> values;
  for (Rival& rival : rivals)
    if (!std::isnan(rival.to_best.p)) values.push_back(&rival.to_best.p);
  std::ranges::sort(values, {}, [](const double* p) { return *p; });
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(values.size() - i) * *values[i]));
    *values[i] = largest;
  }
}

bool is_tie(const Ratio& ratio) {
  return std::abs(ratio.value - 1) < kEqual || (!std::isnan(ratio.p) && ratio.p > kSignificance);
}

/// Positions in the order of their means, the best first.
std::vector<std::size_t> ranked(std::span<const Contender> contenders, const std::string& dram,
                                Direction direction) {
  std::vector<double> means;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& each = contenders[i];
    const double value = mean_of(each.values).value;
    means.push_back(direction == Direction::higher ? -value : value);
    if (!std::isnan(value) && (each.dram == "-" || each.dram == dram)) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return means[i]; });
  return order;
}

std::optional<Decision> decide_one(std::span<const Contender> contenders, const std::string& dram,
                                   Direction direction) {
  const std::vector<std::size_t> order = ranked(contenders, dram, direction);
  if (order.empty()) return std::nullopt;
  Decision decision;
  decision.dram = dram;
  decision.standings.assign(contenders.size(), Standing::absent);
  decision.best = order.front();
  decision.standings[decision.best] = Standing::best;
  std::vector<Rival> rivals;
  for (const std::size_t at : std::span(order).subspan(1))
    rivals.push_back({at, ratio_of(contenders[at].values, contenders[decision.best].values)});
  adjust(rivals);
  for (const Rival& rival : rivals) {
    const bool tied = is_tie(rival.to_best);
    decision.standings[rival.at] = tied ? Standing::tied : Standing::behind;
    if (tied) {
      decision.tied.push_back(rival.at);
    } else if (!decision.next) {
      decision.next = rival.at;
      decision.next_over_best = rival.to_best;
    }
  }
  return decision;
}

}  // namespace

std::string_view name_of(Standing standing) {
  constexpr std::string_view kNames[] = {"", "best", "tie", "behind"};
  return kNames[static_cast<std::size_t>(standing)];
}

Standing better(Standing a, Standing b) {
  if (a == Standing::absent || b == Standing::absent) return std::max(a, b);
  return std::min(a, b);
}

std::vector<Decision> decide(std::span<const Contender> contenders, Direction direction) {
  std::vector<Decision> decisions;
  if (direction == Direction::neither) return decisions;
  std::vector<std::string> sizes;
  for (const Contender& each : contenders)
    if (each.dram != "-" && std::ranges::find(sizes, each.dram) == sizes.end())
      sizes.push_back(each.dram);
  if (sizes.empty()) sizes.emplace_back("-");
  for (const std::string& dram : sizes)
    if (auto decision = decide_one(contenders, dram, direction))
      decisions.push_back(std::move(*decision));
  return decisions;
}

std::string standing_text(std::span<const Decision> decisions, std::size_t contender) {
  std::string text;
  for (const bool shared : {false, true}) {
    std::string sizes;
    std::size_t count = 0, family = 0;
    for (const Decision& decision : decisions) {
      const Standing standing = decision.standings[contender];
      family += standing != Standing::absent;
      const bool wins = standing == Standing::tied || standing == Standing::best;
      if (!wins || shared == decision.tied.empty()) continue;
      sizes += (count++ > 0 ? ", " : "") + decision.dram;
    }
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(shared ? "tie" : "best");
    if (count < family) text += " with " + sizes + " GiB";
  }
  return text;
}

}  // namespace analysis
