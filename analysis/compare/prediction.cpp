#include "analysis/compare/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "analysis/cell/statistics.hpp"
#include "analysis/compare/agreement.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

/// Whether the simulated cell has the same values on all axes of the measured cell.
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
  return measured.record->seed == simulated.record->seed &&
         measured.value("engine.emulate") == simulated.value("engine.emulate") &&
         std::all_of(axes.begin(), axes.end(), agrees);
}

std::string percent(double ratio) {
  if (std::isnan(ratio)) return "-";
  return four_digits(std::round(ratio * 1000) / 10);
}

/// The mean of the errors' sizes, of the cells that have both figures.
std::string mean_distance(const std::vector<PredictedCell>& cells, const std::string& figure) {
  std::vector<double> off;
  for (const auto& [measured, simulated] : cells) {
    if (simulated == nullptr) continue;
    const double error = simulated->figure(figure) / measured->figure(figure) - 1;
    if (std::isfinite(error)) off.push_back(std::abs(error));
  }
  return off.empty() ? "-" : percent(mean(off)) + " %";
}

}  // namespace

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

void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out) {
  const std::string name = known_metric(measured, metric);
  TextTable table;
  table.add_column("cell", "", TextTable::Align::left);
  table.add_column("MEASURED", "", TextTable::Align::right);
  table.add_column("MODELLED", "", TextTable::Align::right);
  table.add_column("off by", "%", TextTable::Align::right);
  const std::vector<PredictedCell> cells = predicted_cells(measured, simulated);
  std::vector<double> off;
  for (const auto& [real, said] : cells) {
    const double is = real->figure(name), predicted = said ? said->figure(name) : std::nan("");
    if (said != nullptr) off.push_back(std::abs(predicted / is - 1));
    table.add_row({real->record->label, four_digits(is),
                   said != nullptr ? four_digits(predicted) : "not modelled",
                   said != nullptr ? percent(predicted / is - 1) : "-"});
  }
  out << '\n'
      << terminal_text(name) << ", as it was and as the simulator says it with its cost model\n\n";
  table.print(out);
  out << "\nmean distance " << percent(mean(off)) << " % over " << off.size() << " cells";
  const char* separator = "; ";
  for (const char* other : {"jct_wall_mean_s", "ttft_mean_s", "tpot_mean_s", "prefix_hit_rate"}) {
    if (name == other) continue;
    out << separator << other << ' ' << mean_distance(cells, other);
    separator = ", ";
  }
  out << '\n';
  print_agreements(agreements(cells, name), out);
}

}  // namespace analysis
