#include "analysis/answer/rating.hpp"

#include <algorithm>
#include <cmath>

namespace analysis {
namespace {

std::string unit_of(const ConfiguredCell& cell, const std::string& name) {
  const auto& figures = cell.record->figures;
  const auto found = std::ranges::find(figures, name, &sweep::Figure::name);
  return found == figures.end() ? "" : found->unit;
}

}  // namespace

std::vector<Rated> rate(const RateRow& row, const std::string& figure,
                        std::span<const Published> published, std::vector<std::string>& sources) {
  const std::vector<Contender> contenders = contenders_of(row, figure);
  const std::vector<Decision> decisions = decide(contenders, direction_of(figure));
  const PolicyCells* fcfs = row.find("fcfs");
  std::vector<Rated> rated(contenders.size());
  for (std::size_t i = 0; i < rated.size(); ++i) {
    const ConfiguredCell& cell = *row.policies[i].repeats.front();
    rated[i].unit = unit_of(cell, figure);
    rated[i].mean = mean_of(contenders[i].values);
    if (fcfs != nullptr)
      rated[i].over_fcfs = ratio_of(contenders[i].values, by_seed(fcfs->repeats, figure));
    rated[i].standing = standing_text(decisions, i);
    rated[i].mark = standing_mark(decisions, i);
    for (const Published& each : published) {
      const double value = each.value(cell, figure);
      if (std::isnan(value)) continue;
      rated[i].published = value;
      if (std::ranges::find(sources, each.source) == sources.end()) sources.push_back(each.source);
    }
  }
  return rated;
}

}  // namespace analysis
