#include "analysis/digest/cell_report.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

std::optional<sweep::Value> parameter(const sweep::Cell& cell, const std::string& name) {
  const auto found = cell.params.find(name);
  if (found == cell.params.end()) return std::nullopt;
  return found->second.value;
}

using Align = TextTable::Align;
using Texts = std::vector<std::string>;
using Cells = std::vector<const CellReport*>;

constexpr std::array<std::string_view, 13> kMainFigures = {
    "jct_wall_mean_s", "jct_wall_p99_s", "ttft_mean_s",     "ttft_p99_s",    "first_token_p99_s",
    "tpot_mean_s",     "queue_mean_s",   "prefix_hit_rate", "host_hit_rate", "h2d_bytes",
    "preemptions",     "steps",          "makespan_s"};
/// Shown only if some cell has a value above 0.
constexpr std::array<std::string_view, 2> kHostTierFigures = {"host_hit_rate", "h2d_bytes"};

bool is_shown(const sweep::Figure& figure) {
  const bool of_tier =
      std::ranges::find(kHostTierFigures, figure.name.text()) != kHostTierFigures.end();
  return !of_tier || figure.value > 0;
}

bool is_excluded(const CellReport& cell) { return cell.status == sweep::CellStatus::excluded; }

/// The cell's value on an axis, or of policy or jps if they are no axes; "-" if it has none.
std::string setting(const CellReport& cell, const std::string& name) {
  if (const sweep::Value* value = sweep::value_on(cell.axes, name)) return sweep::bare_text(*value);
  if (name == "policy" && cell.policy) return sweep::bare_text(*cell.policy);
  if (name == "jps" && cell.jps) return sweep::bare_text(*cell.jps);
  return "-";
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;
}

/// "jct_wall_mean_s" in "s" has the header "jct_wall" over "mean s".
std::pair<std::string, std::string> header_of(std::string name, const std::string& unit) {
  if (!unit.empty() && name.ends_with('_' + unit)) name.resize(name.size() - unit.size() - 1);
  for (const std::string part : {"mean", "p99"}) {
    if (!name.ends_with('_' + part)) continue;
    name.resize(name.size() - part.size() - 1);
    return {name, part + ' ' + unit};
  }
  return {name, unit};
}

/// Chooses the columns for the cells that are not excluded.
class Summary {
 public:
  explicit Summary(std::span<const CellReport> cells) {
    for (const CellReport& cell : cells)
      if (!is_excluded(cell)) cells_.push_back(&cell);
    choose_settings();
    for (const std::string_view name : kMainFigures) {
      for (const CellReport* cell : cells_) {
        const sweep::Figure* found = sweep::find_named(cell->figures, name);
        if (found == nullptr || !is_shown(*found)) continue;
        figures_.push_back(*found);
        break;
      }
    }
  }

  void print_cells(std::ostream& out) const;
  void print_means(std::ostream& out) const;
  bool repeated() const {
    return std::ranges::any_of(cells_, [](const CellReport* cell) { return cell->repeat > 0; });
  }

 private:
  void choose_settings();
  bool varies(const std::string& name) const;
  void add_setting_columns(TextTable& table) const;
  void add_figure_columns(TextTable& table) const;
  Texts settings_of(const CellReport& cell) const;

  Cells cells_;
  Texts settings_;
  std::vector<sweep::Figure> figures_;  // used for their names and units
};

/// The axes in their order, preceded by policy and jps if these are no axes.
void Summary::choose_settings() {
  Texts axes;
  for (const CellReport* cell : cells_) {
    for (const auto& [name, value] : cell->axes) {
      if (std::ranges::find(axes, name) == axes.end()) axes.push_back(name);
    }
  }
  for (const std::string name : {"policy", "jps"}) {
    const bool known = std::ranges::any_of(
        cells_, [&](const CellReport* cell) { return setting(*cell, name) != "-"; });
    if (known && std::ranges::find(axes, name) == axes.end()) settings_.push_back(name);
  }
  for (const std::string& name : axes) {
    if (name == "policy" || name == "jps" || varies(name)) settings_.push_back(name);
  }
}

bool Summary::varies(const std::string& name) const {
  return std::ranges::any_of(cells_, [&](const CellReport* cell) {
    return setting(*cell, name) != setting(*cells_.front(), name);
  });
}

void Summary::add_setting_columns(TextTable& table) const {
  for (const std::string& name : settings_) {
    const bool numeric = std::ranges::all_of(
        cells_, [&](const CellReport* cell) { return is_number(setting(*cell, name)); });
    table.add_column(name, "", numeric ? Align::right : Align::left);
  }
}

void Summary::add_figure_columns(TextTable& table) const {
  for (const sweep::Figure& figure : figures_) {
    const auto [name, unit] = header_of(figure.name, figure.unit);
    table.add_column(name, unit, Align::right);
  }
}

Texts Summary::settings_of(const CellReport& cell) const {
  Texts texts;
  for (const std::string& name : settings_) texts.push_back(setting(cell, name));
  return texts;
}

void Summary::print_cells(std::ostream& out) const {
  const bool all_ok = std::ranges::all_of(
      cells_, [](const CellReport* cell) { return cell->status == sweep::CellStatus::ok; });
  TextTable table;
  table.add_column("cell", "", Align::right);
  add_setting_columns(table);
  if (repeated()) table.add_column("repeat", "", Align::right);
  add_figure_columns(table);
  if (!all_ok) {
    table.add_column("status", "", Align::left);
    table.add_column("reason", "", Align::left);
  }
  for (const CellReport* cell : cells_) {
    Texts row = {std::to_string(cell->index)};
    for (std::string& text : settings_of(*cell)) row.push_back(std::move(text));
    if (repeated()) row.push_back(std::to_string(cell->repeat));
    for (const sweep::Figure& each : figures_) {
      row.push_back(four_digits(figure_value(*cell, each.name)));
    }
    if (!all_ok) {
      row.emplace_back(sweep::to_text(cell->status));
      row.push_back(cell->reason);
    }
    table.add_row(row);
  }
  table.print(out);
}

/// The cells that differ only in their repeat, in plan order. Repeats are innermost in a plan, so
/// index minus repeat is the same for all cells of a group.
std::map<int, Cells> groups_of(const Cells& cells) {
  std::map<int, Cells> groups;
  for (const CellReport* cell : cells) {
    if (cell->status == sweep::CellStatus::ok) groups[cell->index - cell->repeat].push_back(cell);
  }
  return groups;
}

double mean_figure(const Cells& group, const std::string& name) {
  std::vector<double> values;
  for (const CellReport* cell : group) values.push_back(figure_value(*cell, name));
  return mean(observed(values));
}

void Summary::print_means(std::ostream& out) const {
  TextTable table;
  add_setting_columns(table);
  table.add_column("repeats", "", Align::right);
  add_figure_columns(table);
  for (const auto& [first_index, group] : groups_of(cells_)) {
    Texts row = settings_of(*group.front());
    row.push_back(std::to_string(group.size()));
    for (const sweep::Figure& each : figures_) {
      row.push_back(four_digits(mean_figure(group, each.name)));
    }
    table.add_row(row);
  }
  out << "\nmean over repeats\n";
  table.print(out);
}

/// Prints a line for each reason, in plan order, with the number of its cells.
void print_excluded(std::span<const CellReport> cells, std::ostream& out) {
  std::vector<std::pair<std::string, int>> reasons;
  for (const CellReport& cell : cells) {
    if (!is_excluded(cell)) continue;
    const auto known = std::ranges::find(reasons, cell.reason, &std::pair<std::string, int>::first);
    if (known == reasons.end()) {
      reasons.emplace_back(cell.reason, 1);
    } else {
      ++known->second;
    }
  }
  if (!reasons.empty()) out << '\n';
  for (const auto& [reason, count] : reasons)
    out << "excluded: " << count << (count == 1 ? " cell: " : " cells: ") << terminal_text(reason)
        << '\n';
}

}  // namespace

CellReport report_of(const sweep::Cell& cell, const std::string& key, const std::string& label) {
  CellReport report;
  report.index = cell.index;
  report.key = key;
  report.label = label;
  report.status = cell.status;
  report.reason = cell.reason;
  report.axes = cell.axes;
  report.policy = parameter(cell, "policy");
  report.jps = parameter(cell, "jps");
  report.repeat = cell.repeat;
  report.seed = cell.seed;
  return report;
}

double figure_value(const CellReport& report, std::string_view name) {
  for (const sweep::Figure& figure : report.figures) {
    if (figure.name == name) return figure.value;
  }
  return sweep::kNotObserved;
}

void print_summary(std::span<const CellReport> cells, std::ostream& out) {
  const Summary summary(cells);
  summary.print_cells(out);
  if (summary.repeated()) summary.print_means(out);
  print_excluded(cells, out);
}

}  // namespace analysis
