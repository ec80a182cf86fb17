#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "sweeps/archive/reader.hpp"
#include "sweeps/upkeep/check.hpp"
#include "sweeps/upkeep/rewriting.hpp"

namespace sweep {

namespace {

constexpr std::size_t kMost = 10;
using Differences = std::vector<std::string>;

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string shown(const std::string& text) { return '"' + text + '"'; }
std::string shown(double number) { return to_text(Value(number)); }
template <class T>
std::string shown(T number) {
  return std::to_string(number);
}

/// A sentence on the first row in which two columns differ; empty if there is none.
std::string difference(const std::string& where, const Column& a, const Column& b) {
  if (a.data.index() != b.data.index()) return where + " has different types";
  if (a.enum_names != b.enum_names) return where + " has different names of values";
  return std::visit(
      [&](const auto& left) -> std::string {
        const auto& right = std::get<std::decay_t<decltype(left)>>(b.data);
        for (std::size_t i = 0; i < left.size(); ++i) {
          if (same(left[i], right[i])) continue;
          return where + " differs in row " + std::to_string(i) + ": " + shown(left[i]) + " and " +
                 shown(right[i]);
        }
        return "";
      },
      a.data);
}

std::string difference(const std::string& cell, const Table& a, const Table& b) {
  const std::string where = cell + ": " + a.name;
  if (a.rows() != b.rows()) {
    return where + " has " + std::to_string(a.rows()) + " and " + std::to_string(b.rows()) +
           " rows";
  }
  for (const Column& column : a.columns) {
    if (column.is_volatile) continue;
    if (!b.has(column.name)) return where + "/" + column.name + " is only in the first archive";
    const std::string found = difference(where + "/" + column.name, column, b.column(column.name));
    if (!found.empty()) return found;
  }
  for (const Column& column : b.columns) {
    if (a.has(column.name) || column.is_volatile) continue;
    return where + "/" + column.name + " is only in the second archive";
  }
  return "";
}

/// The columns that say what was asked and answered, of tables whose rows are jobs and turns.
std::span<const std::string_view> asked_columns(const std::string& table) {
  static constexpr std::array<std::string_view, 3> kJobs = {"job", "id", "n_turns"};
  static constexpr std::array<std::string_view, 9> kTurns = {
      "job", "turn", "agent", "parent", "prompt_tok", "output_tok", "gap_s", "tool", "last"};
  if (table == "jobs") return kJobs;
  if (table == "turns") return kTurns;
  return {};
}

/// The table with those columns alone, in the order of jobs and turns.
Table asked_of(const Table& table) {
  Table asked{table.name, {}};
  for (const std::string_view name : asked_columns(table.name))
    if (table.has(name)) asked.columns.push_back(table.column(name));
  if (asked.columns.empty()) return asked;
  std::vector<std::size_t> order(asked.rows());
  std::iota(order.begin(), order.end(), 0);
  const auto turn_of = [&](std::size_t row) {
    return asked.has("turn") ? asked.values<std::int32_t>("turn")[row] : 0;
  };
  std::ranges::sort(order, {}, [&](std::size_t row) {
    return std::tuple(asked.values<std::int32_t>("job")[row], turn_of(row));
  });
  Table sorted{table.name, {}};
  for (const Column& column : asked.columns) {
    sorted.columns.push_back(without_rows(column));
    for (const std::size_t row : order)
      append_values(sorted.columns.back().data, column.data, row, 1);
  }
  return sorted;
}

void add(Differences& differences, const std::string& found) {
  if (!found.empty() && differences.size() < kMost) differences.push_back(found);
}

using Records = std::vector<CellRecord>;

/// /cells without the row ranges, which follow from the tables.
Table bare_table(Records& cells, Compared what) {
  for (CellRecord& cell : cells) {
    cell.rows = {};
    if (what == Compared::results) continue;
    cell.digest.clear();
    cell.figures.clear();
  }
  return to_cells_table(cells).table;
}

/// What differs in /cells, apart from levels.
std::string difference_of_cells(Records a, Records b, Compared what) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (told_alike(a[i], b[i])) continue;
    forget_level(a[i]);
    forget_level(b[i]);
  }
  return difference("the plans", bare_table(a, what), bare_table(b, what));
}

std::string cell_name(const CellRecord& cell) {
  return "cell " + std::to_string(cell.index) + " (" + cell.label + ")";
}

}  // namespace

ArchiveComparison compare_archives(const std::string& a, const std::string& b, Compared what) {
  ArchiveReader left(a), right(b);
  ArchiveComparison compared;
  Differences& differences = compared.differences;
  if (left.sweep_name() != right.sweep_name()) {
    return {{"they hold different sweeps: \"" + left.sweep_name() + "\" and \"" +
             right.sweep_name() + "\""}};
  }
  if (left.spec_text() != right.spec_text()) add(differences, "their sweep files differ");
  if (left.cells().size() != right.cells().size()) {
    return {{"they have " + std::to_string(left.cells().size()) + " and " +
             std::to_string(right.cells().size()) + " cells"}};
  }
  add(differences, difference_of_cells(left.cells(), right.cells(), what));
  for (std::size_t i = 0; i < left.cells().size() && differences.size() < kMost; ++i) {
    ShardContents x = left.load(static_cast<int>(i)), y = right.load(static_cast<int>(i));
    const RecordLevel common = std::min(x.record.level, y.record.level);
    if (has_more(x.record, y.record) || has_more(y.record, x.record)) ++compared.at_two_levels;
    keep_level(x, common);
    keep_level(y, common);
    for (std::size_t t = 0; t < kCellTables.size(); ++t) {
      const Table &one = *x.tables()[t], &other = *y.tables()[t];
      add(differences, what == Compared::results
                           ? difference(cell_name(x.record), one, other)
                           : difference(cell_name(x.record), asked_of(one), asked_of(other)));
    }
  }
  return compared;
}

}  // namespace sweep
