#include "analysis/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/escape.hpp"

namespace analysis {
namespace {

/// A measured cell and the simulated one with the same axes and seed; null: it is not modelled.
struct PredictedCell {
  const ConfiguredCell* measured;
  const ConfiguredCell* simulated;
};

/// Whether both cells replay the same jobs (an archive may hold several traces) under a policy
/// with the same values.
bool same_work(const ConfiguredCell& a, const ConfiguredCell& b) {
  return std::ranges::none_of(
      config_differences(a.config, b.config), [](const ConfigDifference& difference) {
        return difference.key.starts_with("workload.") || difference.key == kServerPolicyValues;
      });
}

/// Whether the simulated cell has the same workload and the same values on all axes of the measured
/// cell.
bool same_question(const ConfiguredCell& measured, const ConfiguredCell& simulated) {
  const auto& axes = measured.record->axes;
  const auto agrees = [&](const auto& axis) {
    // A server's profile takes the place of a policy; in a sweep of its simulated twin it is an
    // axis.
    const sweep::Value* profile = sweep::value_on(simulated.record->axes, "server.profile");
    if (axis.first == "policy" && profile != nullptr)
      return sweep::same_value(*profile, axis.second);
    return simulated.value(axis.first) == measured.value(axis.first);
  };
  return measured.record->seed == simulated.record->seed && same_work(measured, simulated) &&
         measured.value("engine.emulate") == simulated.value("engine.emulate") &&
         std::all_of(axes.begin(), axes.end(), agrees);
}

/// The mean of the errors' sizes, of the cells that have both figures.
std::string mean_distance(const std::vector<PredictedCell>& cells, const std::string& figure) {
  std::vector<double> off;
  for (const auto& [measured, simulated] : cells) {
    if (simulated == nullptr) continue;
    const double error = simulated->figure(figure) / measured->figure(figure) - 1;
    if (std::isfinite(error)) off.push_back(std::abs(error));
  }
  return off.empty() ? "-" : in_percent(mean(off)) + " %";
}

constexpr std::array kJudged = {"jct_wall_mean_s", "jct_wall_p99_s", "ttft_mean_s",
                                "ttft_p99_s",      "tpot_mean_s",    "prefix_hit_rate",
                                "host_hit_rate",   "preemptions"};
constexpr std::array kAveraged = {"jct_wall_mean_s", "ttft_mean_s", "tpot_mean_s",
                                  "prefix_hit_rate"};

/// By how much this figure varies between measured cells that differ from this one at most in their
/// seed, largest less smallest; NaN of a cell that has no such fellow.
double spread_of(const ConfiguredCell& cell, const std::vector<PredictedCell>& cells,
                 const std::string& figure) {
  double least = cell.figure(figure), most = least;
  int fellows = 0;
  for (const PredictedCell& each : cells) {
    const double value = each.measured->figure(figure);
    if (each.measured->record->axes != cell.record->axes || !same_work(*each.measured, cell) ||
        !std::isfinite(value))
      continue;
    least = std::min(least, value);
    most = std::max(most, value);
    ++fellows;
  }
  return fellows > 1 ? most - least : std::nan("");
}

/// Shares differ by points, counts by their number.
std::string difference_text(const std::string& figure, double difference, double measured) {
  if (std::isnan(difference)) return "-";
  if (figure.ends_with("_rate")) return in_percent(difference) + " points";
  return figure == "preemptions" ? four_digits(difference)
                                 : in_percent(difference / measured) + " %";
}

std::vector<PredictedCell> predicted_cells(const std::vector<ConfiguredCell>& measured,
                                           const std::vector<ConfiguredCell>& simulated) {
  std::vector<PredictedCell> cells;
  for (const ConfiguredCell& real : measured) {
    const auto found = std::ranges::find_if(simulated, [&](const ConfiguredCell& cell) {
      return cell.record->status == sweep::CellStatus::ok && same_question(real, cell);
    });
    cells.push_back({&real, found == simulated.end() ? nullptr : &*found});
  }
  return cells;
}

}  // namespace

void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out) {
  std::vector<std::string> figures = {known_metric(measured, metric)};
  for (const std::string figure : kJudged)
    if (figure != figures.front()) figures.push_back(figure);
  const std::vector<PredictedCell> cells = predicted_cells(measured, simulated);
  Grid grid{{{"cell", "", false}, {"figure", "", false}}, {}};
  for (const char* name : {"MEASURED", "MODELLED", "off by", "seeds differ by"})
    grid.columns.push_back({name, ""});
  std::size_t modelled = 0;
  for (const auto& [real, said] : cells) {
    modelled += said != nullptr;
    for (const std::string& figure : figures) {
      const double is = real->figure(figure),
                   predicted = said ? said->figure(figure) : std::nan("");
      const bool is_first = figure == figures.front();
      if (!is_first && (!std::isfinite(is) || !std::isfinite(predicted))) continue;
      const auto values = real->value(kServerPolicyValues);
      grid.rows.push_back({real->record->label + (values ? ' ' + shown(values) : ""), figure,
                           four_digits(is), said ? four_digits(predicted) : "not modelled",
                           difference_text(figure, predicted - is, is),
                           difference_text(figure, spread_of(*real, cells, figure), is)});
    }
  }
  out << "\nAs it was and as the simulator says it with its cost model\n\n";
  print_text(grid, out);
  out << "\nmean distance over " << modelled << " cells";
  const char* separator = ": ";
  for (const std::string& figure : figures) {
    if (std::ranges::find(kAveraged, figure) == kAveraged.end() && figure != figures.front())
      continue;
    out << separator << terminal_text(figure) << ' ' << mean_distance(cells, figure);
    separator = ", ";
  }
  out << '\n';
}

}  // namespace analysis
