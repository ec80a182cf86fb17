#include "analysis/ranking/policy_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace analysis {
namespace {

std::string unit_of(const ConfiguredCell& cell, const std::string& name) {
  const sweep::Figure* found = cell.find_figure(name);
  return found == nullptr ? "" : found->unit.text();
}

/// Whether the cell's policy is told the future that was recorded: a key of it is "oracle".
bool is_reference(const ConfiguredCell& cell) {
  return std::ranges::any_of(cell.config, [](const auto& setting) {
    const auto* text = std::get_if<std::string>(&setting.second);
    return text != nullptr && *text == "oracle" && setting.first.text().starts_with("policy.");
  });
}

double mean_bound(const PolicyCells& policy, const CellBounds& bounds) {
  double sum = 0;
  for (const ConfiguredCell* cell : policy.repeats) {
    const auto bound = bounds.find(cell->record->key);
    if (bound == bounds.end()) return sweep::kNotObserved;
    sum += bound->second;
  }
  return sum / static_cast<double>(policy.repeats.size());
}

void add_bounds(const RateRow& row, const CellBounds& bounds, std::vector<Rated>& rated) {
  double best = sweep::kNotObserved;
  for (const Rated& each : rated)
    if (!each.reference) best = std::fmin(best, each.mean.value);
  for (std::size_t i = 0; i < rated.size(); ++i) {
    rated[i].bound = mean_bound(row.policies[i], bounds);
    rated[i].best = best;
  }
}

}  // namespace

std::vector<Rated> rate(const RateRow& row, const std::string& figure,
                        std::span<const Published> published, std::vector<std::string>& sources,
                        const CellBounds& bounds) {
  const std::vector<Contender> contenders = contenders_of(row, figure);
  const std::vector<Decision> decisions = decide(contenders, direction_of(figure));
  const PolicyCells* fcfs = row.fcfs();
  std::vector<Rated> rated(contenders.size());
  for (std::size_t i = 0; i < rated.size(); ++i) {
    const ConfiguredCell& cell = *row.policies[i].repeats.front();
    rated[i].unit = unit_of(cell, figure);
    rated[i].reference = is_reference(cell);
    rated[i].mean = mean_of(contenders[i].values);
    if (fcfs != nullptr)
      rated[i].over_fcfs = ratio_of(contenders[i].values, by_seed(fcfs->repeats, figure));
    const auto [text, mark] = texts_of(decisions, i);
    rated[i].standing = text;
    rated[i].mark = mark;
    for (const Published& each : published) {
      const double value = each.value(cell, figure);
      if (std::isnan(value)) continue;
      rated[i].published = value;
      add_once(sources, each.source);
    }
  }
  if (figure == kAnswerFigure && !bounds.empty()) add_bounds(row, bounds, rated);
  return rated;
}

std::string bound_name(const Place& place) {
  return place.kind.starts_with("MODELLED") ? "bound" : "MODELLED bound";
}

std::string bracket_text(const Place& place, const std::string& jps, std::span<const Rated> rated) {
  // Cells of a row have one bound unless their policies change the limits of a step.
  double least = sweep::kNotObserved, best = least, best_policy = least;
  for (const Rated& each : rated) {
    best = std::fmin(best, each.mean.value);
    if (std::isnan(each.bound) || std::isnan(each.mean.value)) continue;
    least = std::fmin(least, each.bound);
    best_policy = each.best;
  }
  if (std::isnan(least)) return {};
  std::string text = jps == "-" ? "the optimum" : "at " + jps + " jobs/s the optimum";
  text += " is in [" + two_decimals(least) + ", " + two_decimals(best) + "] s";
  if (best != best_policy) text += ", " + two_decimals(best) + " by a reference";
  if (bound_name(place) != "bound") text += " by a " + bound_name(place);
  return text + (best > 2 * least ? ", wider than a factor of two" : "");
}

std::string name_beside_bounds(const std::string& variant, const Rated& rated) {
  return rated.reference && !std::isnan(rated.bound) ? variant + " (reference)" : variant;
}

}  // namespace analysis
