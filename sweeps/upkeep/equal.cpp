#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "sweeps/archive/reader.hpp"
#include "sweeps/upkeep/rewriting.hpp"
#include "sweeps/upkeep/upkeep.hpp"

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

/// Whether each value has one name as far as both lists reach; later programs add names behind.
bool agree(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [left, right] = std::ranges::mismatch(a, b);
  return a.empty() == b.empty() && (left == a.end() || right == b.end());
}

/// A sentence on the first row in which two columns differ; empty if there is none.
std::string difference(const std::string& where, const Column& a, const Column& b) {
  if (a.data.index() != b.data.index()) return where + " has different types";
  if (!agree(a.enum_names, b.enum_names)) return where + " has different names of values";
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

/// The columns that say what was asked and answered, of the tables of jobs and turns.
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
      append_values(sorted.columns.back().data, column.data, {row, 1});
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
  return to_cells_table(cells);
}

/// The first difference of /cells, apart from levels.
std::string difference_of_cells(const std::string& where, Records a, Records b, Compared what) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (told_alike(a[i], b[i])) continue;
    forget_level(a[i]);
    forget_level(b[i]);
  }
  return difference(where, bare_table(a, what), bare_table(b, what));
}

bool was_run(const CellRecord& cell) {
  return cell.status != CellStatus::planned && cell.status != CellStatus::excluded;
}

/// Compares the tables of a cell in two archives, where it has these rows.
void compare_tables(ArchiveReader& left, int row, ArchiveReader& right, int other_row,
                    Compared what, ArchiveComparison& compared) {
  ShardContents x = left.load(row), y = right.load(other_row);
  const RecordLevel common = std::min(x.record.level, y.record.level);
  if (has_more(x.record, y.record) || has_more(y.record, x.record)) ++compared.at_two_levels;
  keep_level(x, common);
  keep_level(y, common);
  const auto seen = [what](const Table& table) {
    return what == Compared::results ? table : asked_of(table);
  };
  for (std::size_t t = 0; t < kCellTables.size(); ++t)
    add(compared.differences,
        difference(name_of(x.record), seen(*x.tables()[t]), seen(*y.tables()[t])));
}

/// The cell without its place in a plan.
CellRecord without_place(CellRecord cell) {
  cell.index = 0;
  cell.label.clear();
  cell.axes.clear();
  cell.kept = false;
  return cell;
}

/// The cells that an archive has run, by their keys.
using RunCells = std::map<std::string, const CellRecord*>;
RunCells run_cells(const ArchiveReader& archive) {
  RunCells cells;
  for (const CellRecord& cell : archive.cells())
    if (was_run(cell)) cells.emplace(cell.key, &cell);
  return cells;
}

/// The cells that the archive with fewer cells has run; of two with as many, the left one.
void compare_common(ArchiveReader& left, ArchiveReader& right, Compared what,
                    ArchiveComparison& compared) {
  const bool is_left_larger = left.cells().size() > right.cells().size();
  const RunCells known = run_cells(is_left_larger ? left : right);
  for (const CellRecord& cell : (is_left_larger ? right : left).cells()) {
    if (!was_run(cell) || compared.differences.size() >= kMost) continue;
    const auto found = known.find(cell.key);
    if (found == known.end()) {
      add(compared.differences,
          name_of(cell) + " is only in the " + (is_left_larger ? "second" : "first") + " archive");
      continue;
    }
    ++compared.in_both;
    const CellRecord &one = is_left_larger ? *found->second : cell,
                     &other = is_left_larger ? cell : *found->second;
    add(compared.differences,
        difference_of_cells(name_of(cell), {without_place(one)}, {without_place(other)}, what));
    compare_tables(left, one.index, right, other.index, what, compared);
  }
  compared.in_one = static_cast<int>(known.size()) - compared.in_both;
}

/// Whether one has cells that the other lacks, or the right one has run some that the left has not.
bool has_further_cells(const Records& left, const Records& right) {
  if (left.size() != right.size()) return true;
  for (std::size_t i = 0; i < right.size(); ++i)
    if (left[i].key == right[i].key && left[i].status == CellStatus::planned && was_run(right[i]))
      return true;
  return false;
}

bool has_common_cell(const ArchiveReader& left, const ArchiveReader& right) {
  const RunCells cells = run_cells(left), others = run_cells(right);
  return std::ranges::any_of(cells, [&](const auto& cell) { return others.contains(cell.first); });
}

}  // namespace

ArchiveComparison compare_archives(const std::string& a, const std::string& b, Compared what) {
  ArchiveReader left(a), right(b);
  ArchiveComparison compared;
  Differences& differences = compared.differences;
  if (has_further_cells(left.cells(), right.cells()) && has_common_cell(left, right)) {
    compare_common(left, right, what, compared);
    return compared;
  }
  if (left.sweep_name() != right.sweep_name()) {
    return {{"they hold different sweeps: \"" + left.sweep_name() + "\" and \"" +
             right.sweep_name() + "\""}};
  }
  if (left.spec_text() != right.spec_text()) add(differences, "their sweep files differ");
  if (left.cells().size() != right.cells().size()) {
    return {{"they have " + std::to_string(left.cells().size()) + " and " +
             std::to_string(right.cells().size()) + " cells"}};
  }
  add(differences, difference_of_cells("the plans", left.cells(), right.cells(), what));
  compared.in_both = static_cast<int>(left.cells().size());
  for (int i = 0; i < compared.in_both && differences.size() < kMost; ++i)
    compare_tables(left, i, right, i, what, compared);
  return compared;
}

}  // namespace sweep
