#include "analysis/compare/decision.hpp"

#include <cmath>

#include "analysis/text/list.hpp"

namespace analysis {
namespace {

constexpr double kSignificance = 0.05;

bool is_worse(const Ratio& ratio, Direction direction) {
  return direction == Direction::higher ? ratio.sign < 0 : ratio.sign > 0;
}

Standing standing_of(const Ratio& over_best, Direction direction) {
  if (std::abs(over_best.value - 1) < kEqual) return Standing::tied;
  if (over_best.repeats < kFewestRepeats) return Standing::behind;
  // With unequal seeds two others can beat each other in turn, so that the best one is beaten.
  const bool is_told = over_best.p <= kSignificance && is_worse(over_best, direction);
  return is_told ? Standing::behind : Standing::undecided;
}

/// Positions of those that compete, in the order of the contenders.
std::vector<std::size_t> family_of(std::span<const Contender> contenders, const std::string& dram) {
  std::vector<std::size_t> family;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& each = contenders[i];
    if (!each.values.empty() && (each.dram == "-" || each.dram == dram)) family.push_back(i);
  }
  return family;
}

std::size_t best_of(std::span<const std::size_t> family, std::span<const Contender> contenders,
                    Direction direction) {
  std::size_t best = family.front();
  for (const std::size_t at : family.subspan(1))
    if (is_worse(ratio_of(contenders[best].values, contenders[at].values), direction)) best = at;
  return best;
}

/// Holm's rule, in place: the k-th smallest of m p-values counts m - k + 1 fold, and no less than a
/// smaller one. NaN stays and does not count.
void adjust_by_holm(std::vector<double*> p_values) {
  std::erase_if(p_values, [](const double* p) { return std::isnan(*p); });
  std::ranges::sort(p_values, {}, [](const double* p) { return *p; });
  double largest = 0;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    const auto left = static_cast<double>(p_values.size() - i);
    largest = std::max(largest, std::min(1.0, left * *p_values[i]));
    *p_values[i] = largest;
  }
}

Decision decide_one(std::span<const std::size_t> family, std::span<const Contender> contenders,
                    Direction direction) {
  Decision decision;
  decision.best = best_of(family, contenders, direction);
  decision.standings.assign(contenders.size(), Standing::absent);
  Standing& best = decision.standings[decision.best] = Standing::best;
  for (const std::size_t at : family) {
    if (at == decision.best) continue;
    decision.rivals.push_back(
        {at, ratio_of(contenders[at].values, contenders[decision.best].values)});
  }
  std::ranges::stable_sort(decision.rivals, {}, [&](const Rival& rival) {
    return direction == Direction::higher ? -rival.over_best.value : rival.over_best.value;
  });
  std::vector<double*> p_values;
  for (Rival& rival : decision.rivals) p_values.push_back(&rival.over_best.p);
  adjust_by_holm(p_values);
  for (Rival& rival : decision.rivals) {
    rival.standing = standing_of(rival.over_best, direction);
    decision.standings[rival.at] = rival.standing;
    if (rival.standing == Standing::tied) best = Standing::tied;
  }
  return decision;
}

struct Word {
  Standing standing;
  const char *text, *mark;
};
constexpr Word kWords[] = {{Standing::best, "best", "*"},
                           {Standing::tied, "tie", "="},
                           {Standing::undecided, "undecided", "?"}};

}  // namespace

std::vector<Decision> decide(std::span<const Contender> contenders, Direction direction) {
  std::vector<Decision> decisions;
  if (direction == Direction::neither) return decisions;
  std::vector<std::string> sizes;
  for (const Contender& each : contenders)
    if (each.dram != "-" && !each.values.empty()) add_once(sizes, each.dram);
  if (sizes.empty()) sizes.emplace_back("-");
  for (const std::string& dram : sizes) {
    const std::vector<std::size_t> family = family_of(contenders, dram);
    if (family.empty()) continue;
    decisions.push_back(decide_one(family, contenders, direction));
    decisions.back().dram = dram;
  }
  return decisions;
}

StandingTexts texts_of(std::span<const Decision> decisions, std::size_t contender) {
  const auto taken = std::ranges::count_if(decisions, [&](const Decision& each) {
    return each.standings[contender] != Standing::absent;
  });
  StandingTexts texts;
  for (const Word& word : kWords) {
    std::vector<std::string> sizes;
    for (const Decision& each : decisions)
      if (each.standings[contender] == word.standing) sizes.push_back(each.dram);
    if (sizes.empty()) continue;
    texts.text += (texts.text.empty() ? "" : ", ") + std::string(word.text);
    if (std::ssize(sizes) == taken) {
      texts.mark += word.mark;
      continue;
    }
    texts.text += " with " + sweep::joined(sizes) + " GiB";
    for (const std::string& size : sizes) texts.mark += word.mark + size + 'G';
  }
  return texts;
}

}  // namespace analysis
