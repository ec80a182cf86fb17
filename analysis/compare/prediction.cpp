#include "analysis/compare/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "analysis/cell/statistics.hpp"
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

}  // namespace

void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out) {
  const std::string name = known_metric(measured, metric);
  TextTable table;
  table.add_column("cell", "", TextTable::Align::left);
  table.add_column("MEASURED", "", TextTable::Align::right);
  table.add_column("MODELLED", "", TextTable::Align::right);
  table.add_column("off by", "%", TextTable::Align::right);
  std::vector<double> off;
  for (const ConfiguredCell& real : measured) {
    const auto found = std::ranges::find_if(
        simulated, [&](const ConfiguredCell& cell) { return same_question(real, cell); });
    if (found == simulated.end() || found->record->status != sweep::CellStatus::ok) continue;
    const double is = real.figure(name), predicted = found->figure(name);
    off.push_back(predicted / is - 1);
    table.add_row(
        {real.record->label, four_digits(is), four_digits(predicted), percent(off.back())});
  }
  out << '\n'
      << terminal_text(name) << ", as it was and as the simulator says it with its cost model\n\n";
  table.print(out);
  for (double& value : off) value = std::abs(value);
  out << "\nmean distance " << percent(mean(off)) << " % over " << off.size() << " cells\n";
}

}  // namespace analysis
