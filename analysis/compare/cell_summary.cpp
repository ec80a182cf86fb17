#include "analysis/compare/cell_summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;
using Cells = std::vector<const ConfiguredCell*>;

constexpr std::array<std::string_view, 13> kMainFigures = {
    "jct_wall_mean_s", "jct_wall_p99_s", "ttft_mean_s",     "ttft_p99_s",    "first_token_p99_s",
    "tpot_mean_s",     "queue_mean_s",   "prefix_hit_rate", "host_hit_rate", "h2d_bytes",
    "preemptions",     "steps",          "makespan_s"};

/// Those of a host tier only if some cell has a value above 0.
bool is_shown(const sweep::Figure& figure) {
  const bool of_tier = figure.name == "host_hit_rate" || figure.name == "h2d_bytes";
  return !of_tier || figure.value > 0;
}

/// The cell's value on an axis, or of policy or jps if they are no axes; "-" if it has none.
std::string setting(const ConfiguredCell& cell, const std::string& name) {
  if (const sweep::Value* value = sweep::value_on(cell.record->axes, name))
    return sweep::bare_text(*value);
  return name == "policy" || name == "jps" ? shown(cell.value(name)) : "-";
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;
}

/// "jct_wall_mean_s" in "s" has the header "jct_wall" over "mean s".
Grid::Column header_of(const sweep::Figure& figure) {
  std::string name = figure.name;
  const std::string unit = figure.unit;
  if (!unit.empty() && name.ends_with('_' + unit)) name.resize(name.size() - unit.size() - 1);
  for (const std::string part : {"mean", "p99"})
    if (name.ends_with('_' + part)) return {name.substr(0, name.rfind('_')), part + ' ' + unit};
  return {name, unit};
}

/// The axes in their order, preceded by policy and jps if these are no axes.
Texts settings_of(const Cells& cells) {
  Texts axes, settings;
  for (const ConfiguredCell* cell : cells)
    for (const auto& [name, value] : cell->record->axes)
      if (std::ranges::find(axes, name) == axes.end()) axes.push_back(name);
  const auto any = [&](auto is) { return std::ranges::any_of(cells, is); };
  for (const std::string name : {"policy", "jps"})
    if (std::ranges::find(axes, name) == axes.end() &&
        any([&](const ConfiguredCell* cell) { return setting(*cell, name) != "-"; }))
      settings.push_back(name);
  for (const std::string& name : axes)
    if (name == "policy" || name == "jps" || any([&](const ConfiguredCell* cell) {
          return setting(*cell, name) != setting(*cells.front(), name);
        }))
      settings.push_back(name);
  return settings;
}

/// Used for their names and units.
std::vector<sweep::Figure> figures_of(const Cells& cells) {
  std::vector<sweep::Figure> figures;
  for (const std::string_view name : kMainFigures) {
    for (const ConfiguredCell* cell : cells) {
      const sweep::Figure* found = cell->find_figure(name);
      if (found == nullptr || !is_shown(*found)) continue;
      figures.push_back(*found);
      break;
    }
  }
  return figures;
}

/// A row for each group of cells: of one cell, or of the repeats that are ok.
class Summary {
 public:
  explicit Summary(const Cells& cells)
      : cells_(cells), settings_(settings_of(cells)), figures_(figures_of(cells)) {}

  Grid of_cells(bool repeated) const {
    Grid grid{{{"cell", ""}}, {}};
    add_settings(grid);
    if (repeated) grid.columns.push_back({"repeat", ""});
    for (const sweep::Figure& each : figures_) grid.columns.push_back(header_of(each));
    const bool all_ok = std::ranges::all_of(cells_, [](const ConfiguredCell* cell) {
      return cell->record->status == sweep::CellStatus::ok;
    });
    for (const char* name : {"status", "reason"})
      if (!all_ok) grid.columns.push_back({name, "", false});
    for (const ConfiguredCell* cell : cells_) {
      Texts& row = grid.rows.emplace_back(Texts{std::to_string(cell->record->index)});
      for (const std::string& name : settings_) row.push_back(setting(*cell, name));
      if (repeated) row.push_back(std::to_string(cell->record->repeat));
      for (const sweep::Figure& each : figures_)
        row.push_back(four_digits(cell->figure(each.name.text())));
      if (all_ok) continue;
      row.emplace_back(sweep::to_text(cell->record->status));
      row.push_back(cell->record->reason);
    }
    return grid;
  }

  /// Repeats are innermost in a plan, so index minus repeat is the same for those of a group.
  Grid of_means() const {
    std::map<int, Cells> groups;
    for (const ConfiguredCell* cell : cells_)
      if (cell->record->status == sweep::CellStatus::ok)
        groups[cell->record->index - cell->record->repeat].push_back(cell);
    Grid grid;
    add_settings(grid);
    grid.columns.push_back({"repeats", ""});
    for (const sweep::Figure& each : figures_) grid.columns.push_back(header_of(each));
    for (const auto& [first_index, group] : groups) {
      Texts& row = grid.rows.emplace_back();
      for (const std::string& name : settings_) row.push_back(setting(*group.front(), name));
      row.push_back(std::to_string(group.size()));
      for (const sweep::Figure& each : figures_) {
        std::vector<double> values;
        for (const ConfiguredCell* cell : group) values.push_back(cell->figure(each.name.text()));
        row.push_back(four_digits(mean(observed(values))));
      }
    }
    return grid;
  }

 private:
  void add_settings(Grid& grid) const {
    for (const std::string& name : settings_)
      grid.columns.push_back({name, "", std::ranges::all_of(cells_, [&](const auto* cell) {
                                return is_number(setting(*cell, name));
                              })});
  }

  const Cells& cells_;
  Texts settings_;
  std::vector<sweep::Figure> figures_;
};

}  // namespace

void print_summary(std::span<const ConfiguredCell> cells, std::ostream& out) {
  Cells shown;
  std::vector<std::pair<std::string, int>> excluded;  // reasons, in plan order
  for (const ConfiguredCell& cell : cells) {
    if (cell.record->status != sweep::CellStatus::excluded) {
      shown.push_back(&cell);
      continue;
    }
    const std::string reason = cell.record->reason;
    auto known = std::ranges::find(excluded, reason, &std::pair<std::string, int>::first);
    if (known == excluded.end()) known = excluded.insert(known, {reason, 0});
    ++known->second;
  }
  const bool repeated = std::ranges::any_of(
      shown, [](const ConfiguredCell* cell) { return cell->record->repeat > 0; });
  const Summary summary(shown);
  print_text(summary.of_cells(repeated), out);
  if (repeated) {
    out << "\nmean over repeats\n";
    print_text(summary.of_means(), out);
  }
  if (!excluded.empty()) out << '\n';
  for (const auto& [reason, count] : excluded)
    out << "excluded: " << count << (count == 1 ? " cell: " : " cells: ") << terminal_text(reason)
        << '\n';
}

}  // namespace analysis
