#include "sweeps/archive/cells_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "sweeps/files/sha256.hpp"

namespace sweep {

namespace {

using Cells = std::span<const CellRecord>;
using Records = std::vector<CellRecord>;

// ---- columns that every cell has

/// How a member is stored.
template <class T>
using Stored =
    std::conditional_t<std::is_enum_v<T> || std::is_same_v<T, bool>, std::int8_t,
                       std::conditional_t<std::is_same_v<T, SharedText>, std::string, T>>;

/// `before` is the value of the record before; null for the first.
template <class Member, class Element>
void assign(Member& to, const Element& value, const Member*) {
  to = static_cast<Member>(value);
}
void assign(SharedText& to, const std::string& value, const SharedText* before) {
  to = SharedText(value, before);
}

constexpr const char* kRecord = "record";

struct CoreColumn {
  std::string name, unit, long_name;
  bool is_volatile;
  std::vector<std::string> enum_names;
  bool may_be_missing;                       // as of earlier minor versions
  std::optional<std::size_t> of_table = {};  // which has rows wherever the column is stored
  std::function<ColumnData(Cells)> gather;
  std::function<void(const Table&, Records&)> scatter;
};

/// `access` turns a record, const or not, into a reference to the member.
template <class Access>
CoreColumn core(const std::string& name, const std::string& unit, const std::string& long_name,
                bool is_volatile, Access access, bool may_be_missing = false) {
  using Member = std::decay_t<decltype(access(std::declval<CellRecord&>()))>;
  using Element = Stored<Member>;
  return {name,
          unit,
          long_name,
          is_volatile,
          {},
          may_be_missing,
          {},
          [access](Cells cells) -> ColumnData {
            std::vector<Element> values;
            values.reserve(cells.size());
            for (const CellRecord& cell : cells)
              values.push_back(static_cast<Element>(access(cell)));
            return values;
          },
          [=](const Table& table, Records& records) {
            if (may_be_missing && !table.has(name)) return;
            const std::vector<Element>& values = table.values<Element>(name);
            const Member* before = nullptr;
            for (std::size_t i = 0; i < records.size(); ++i) {
              Member& member = access(records[i]);
              assign(member, values[i], before);
              before = &member;
            }
          }};
}

#define MEMBER(path) \
  [](auto& cell) -> auto& { return cell.path; }

std::vector<CoreColumn> identity_columns() {
  std::vector<CoreColumn> columns = {
      core("cell", "", "row of this table; column of the same name in the others", false,
           MEMBER(index)),
      core("key", "", "SHA-256 of config_json", false, MEMBER(key)),
      core("label", "", "the cell's place on the axes", false, MEMBER(label)),
      core("status", "", "what became of the cell", false, MEMBER(status)),
      core("reason", "", "why it is not ok", false, MEMBER(reason)),
      core("backend", "", "what executed the model", false, MEMBER(backend)),
      core("repeat", "", "position among the repeats", false, MEMBER(repeat)),
      core("seed", "", "seed of the arrivals", false, MEMBER(seed)),
      core(kRecord, "", "how much of the result is stored", false, MEMBER(level), true),
      core("kept", "", "whether it is a result of another setting, which the plan lacks", false,
           MEMBER(kept), true),
  };
  columns[3].enum_names.assign(kCellStatusNames.begin(), kCellStatusNames.end());
  columns[8].enum_names.assign(kRecordLevelNames.begin(), kRecordLevelNames.end());
  columns[9].enum_names = {"FALSE", "TRUE"};
  return columns;
}

std::vector<CoreColumn> run_columns() {
  constexpr bool kVolatile = true;
  return {
      core("digest", "", "SHA-256 of the results, volatile columns left out", false,
           MEMBER(digest)),
      core("attempts", "", "times that the cell was started", kVolatile, MEMBER(run.attempts)),
      core("host", "", "machine that ran it", kVolatile, MEMBER(run.host)),
      core("rank", "", "MPI rank that ran it", kVolatile, MEMBER(run.rank)),
      core("gpu_name", "", "device name", kVolatile, MEMBER(run.gpu_name)),
      core("gpu_uuid", "", "device UUID", kVolatile, MEMBER(run.gpu_uuid)),
      core("gpu_memory_bytes", "B", "device memory", kVolatile, MEMBER(run.gpu_memory_bytes)),
      core("slurm_job", "", "SLURM job that ran it", kVolatile, MEMBER(run.slurm_job)),
      core("t_start_utc", "", "start", kVolatile, MEMBER(run.t_start_utc)),
      core("t_end_utc", "", "end", kVolatile, MEMBER(run.t_end_utc)),
      core("wall_s", "s", "time from start to end", kVolatile, MEMBER(run.wall_s)),
      core("config_json", "", "everything that the results depend on", false, MEMBER(config_json)),
  };
}

#undef MEMBER

std::vector<CoreColumn> range_columns() {
  std::vector<CoreColumn> columns;
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const std::string table(kCellTables[i]);
    columns.push_back(core(
        table + "_off", "", "first row of the cell in /" + table,
        false, [i](auto& cell) -> auto& { return cell.rows[i].offset; }, true));
    columns.push_back(core(
        table + "_n", "", "rows of the cell in /" + table,
        false, [i](auto& cell) -> auto& { return cell.rows[i].rows; }, true));
    columns.end()[-2].of_table = columns.back().of_table = i;
  }
  return columns;
}

const std::vector<CoreColumn>& core_columns() {
  static const std::vector<CoreColumn> kColumns = [] {
    std::vector<CoreColumn> all = identity_columns();
    for (auto& part : {run_columns(), range_columns()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return kColumns;
}

bool is_core(const std::string& name) {
  return std::any_of(core_columns().begin(), core_columns().end(),
                     [&name](const CoreColumn& column) { return column.name == name; });
}

// ---- names of the others

/// Column names of axes, figures and notes: their own names unless another column has them.
class ColumnNames {
 public:
  std::string axis(const std::string& name) { return take(name, "_axis"); }
  std::string figure(const std::string& name) { return take(name, "_figure"); }
  std::string note(const std::string& name) { return take(name, "_note"); }

 private:
  std::string take(std::string name, const std::string& suffix) {
    std::replace(name.begin(), name.end(), '/', '_');  // HDF5 would read '/' as a path
    while (is_core(name) || std::count(taken_.begin(), taken_.end(), name) > 0) name += suffix;
    taken_.push_back(name);
    return name;
  }
  std::vector<std::string> taken_;
};

template <class Name>
void add_name(std::vector<Name>& names, const Name& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::vector<std::string> texts_of(const std::vector<SharedName>& names) {
  return {names.begin(), names.end()};
}

// ---- axes

/// What the values of an axis have in common.
struct AxisKind {
  bool whole = true, numbers = true, booleans = true, everywhere = true;
};

AxisKind kind_of(Cells cells, const std::string& axis) {
  AxisKind kind;
  for (const CellRecord& cell : cells) {
    const Value* value = value_on(cell.axes, axis);
    if (value == nullptr) {
      kind.everywhere = false;
      continue;
    }
    const bool whole = std::holds_alternative<std::int64_t>(*value);
    kind.whole = kind.whole && whole;
    kind.numbers = kind.numbers && (whole || std::holds_alternative<double>(*value));
    kind.booleans = kind.booleans && std::holds_alternative<bool>(*value);
  }
  return kind;
}

double as_number(const Value* value) {
  if (value == nullptr) return kNotObserved;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  return std::get<double>(*value);
}

std::string as_text(const Value* value) { return value != nullptr ? bare_text(*value) : ""; }

template <class T, class Convert>
ColumnData gather_axis(Cells cells, const std::string& axis, Convert convert) {
  std::vector<T> values;
  values.reserve(cells.size());
  for (const CellRecord& cell : cells) values.push_back(convert(value_on(cell.axes, axis)));
  return values;
}

Column axis_column(Cells cells, const std::string& axis, const std::string& name) {
  const AxisKind kind = kind_of(cells, axis);
  Column column{name, axis.ends_with("_gib") ? "GiB" : "", "axis " + axis, false, {}, {}};
  if (kind.whole && kind.everywhere) {
    column.data = gather_axis<std::int64_t>(
        cells, axis, [](const Value* value) { return std::get<std::int64_t>(*value); });
  } else if (kind.numbers) {
    column.data = gather_axis<double>(cells, axis, as_number);
  } else if (kind.booleans && kind.everywhere) {
    column.enum_names = {"FALSE", "TRUE"};
    column.data = gather_axis<std::int8_t>(cells, axis, [](const Value* value) {
      return static_cast<std::int8_t>(std::get<bool>(*value));
    });
  } else {
    column.data = gather_axis<std::string>(cells, axis, as_text);
  }
  return column;
}

/// Adds the value in a row of an axis column to the cell, unless it is NaN or the empty text.
void take_axis(const Column& column, std::size_t row, const std::string& axis, CellRecord& cell) {
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.data)) {
    cell.axes.emplace_back(axis, (*whole)[row]);
  } else if (const auto* number = std::get_if<std::vector<double>>(&column.data)) {
    if (!std::isnan((*number)[row])) cell.axes.emplace_back(axis, (*number)[row]);
  } else if (const auto* boolean = std::get_if<std::vector<std::int8_t>>(&column.data)) {
    cell.axes.emplace_back(axis, (*boolean)[row] != 0);
  } else {
    const std::string& text = std::get<std::vector<std::string>>(column.data)[row];
    if (!text.empty()) cell.axes.emplace_back(axis, text);
  }
}

// ---- figures and notes

Column figure_column(Cells cells, SharedName figure, const std::string& name) {
  Column column{name, "", "figure " + figure.text(), false, {}, {}};
  std::vector<double> values;
  values.reserve(cells.size());
  for (const CellRecord& cell : cells) {
    const Figure* found = find_named(cell.figures, figure);
    values.push_back(found == nullptr ? kNotObserved : found->value);
    if (found == nullptr) continue;
    column.unit = found->unit;
    column.is_volatile = found->is_volatile;
  }
  column.data = std::move(values);
  return column;
}

Column note_column(Cells cells, SharedName note, const std::string& name) {
  Column column{name, "", "note " + note.text(), false, {}, {}};
  std::vector<std::string> values;
  values.reserve(cells.size());
  for (const CellRecord& cell : cells) {
    const Note* found = find_named(cell.notes, note);
    values.push_back(found == nullptr ? "" : found->text);
    if (found != nullptr) column.is_volatile = found->is_volatile;
  }
  column.data = std::move(values);
  return column;
}

CellsTable named_columns(Cells cells) {
  std::vector<std::string> axes;
  std::vector<SharedName> figures, notes;
  for (const CellRecord& cell : cells) {
    for (const auto& [axis, value] : cell.axes) add_name(axes, axis);
    for (const Figure& figure : cell.figures) add_name(figures, figure.name);
    for (const Note& note : cell.notes) add_name(notes, note.name);
  }
  return {{"cells", {}}, std::move(axes), texts_of(figures), texts_of(notes)};
}

}  // namespace

void take_outcome(CellRecord& to, CellRecord from) {
  to.status = from.status;
  to.reason = std::move(from.reason);
  to.figures = std::move(from.figures);
  to.notes = std::move(from.notes);
  to.digest = std::move(from.digest);
  to.level = from.level;
  to.run = std::move(from.run);
  to.rows = from.rows;
  to.histograms = from.histograms;
}

CellRecord without_outcome(const CellRecord& cell) {
  CellRecord planned;
  planned.key = cell.key;
  planned.index = cell.index;
  planned.label = cell.label;
  planned.axes = cell.axes;
  planned.config_json = cell.config_json;
  planned.backend = cell.backend;
  planned.repeat = cell.repeat;
  planned.seed = cell.seed;
  planned.kept = cell.kept;
  if (!cell.kept) return planned;
  planned.status = CellStatus::excluded;
  planned.reason = "the plan lacks it, and the result that was kept of it was damaged";
  return planned;
}

CellsTable to_cells_table(Cells cells) {
  CellsTable result = named_columns(cells);
  std::vector<Column>& columns = result.table.columns;
  for (const CoreColumn& each : core_columns()) {
    const auto has_rows = [&](const CellRecord& cell) {
      return cell.rows[*each.of_table].rows > 0;
    };
    if (each.of_table && std::ranges::none_of(cells, has_rows)) continue;
    columns.push_back({each.name, each.unit, each.long_name, each.is_volatile, each.enum_names,
                       each.gather(cells)});
  }
  ColumnNames names;
  for (const std::string& axis : result.axes) {
    columns.push_back(axis_column(cells, axis, names.axis(axis)));
  }
  for (const std::string& figure : result.figures) {
    columns.push_back(figure_column(cells, figure, names.figure(figure)));
  }
  for (const std::string& note : result.notes) {
    columns.push_back(note_column(cells, note, names.note(note)));
  }
  return result;
}

namespace {

/// Throws TableError for a number without a name.
void check_enumeration(const Table& cells, const std::string& column, std::size_t names) {
  for (const std::int8_t value : cells.values<std::int8_t>(column)) {
    if (value >= 0 && static_cast<std::size_t>(value) < names) continue;
    throw TableError("table cells: there is no " + column + ' ' + std::to_string(value));
  }
}

/// Before schema 1.6 a cell without rows of its steps was told by its note.
void take_level_of_note(CellRecord& cell) {
  const auto is_told = [](const Note& note) { return note.name == kSummaryOf; };
  if (std::any_of(cell.notes.begin(), cell.notes.end(), is_told)) cell.level = RecordLevel::jobs;
}

}  // namespace

std::vector<CellRecord> to_records(const CellsTable& cells) {
  const bool has_levels = cells.table.has(kRecord);
  check_enumeration(cells.table, "status", kCellStatusNames.size());
  if (has_levels) check_enumeration(cells.table, kRecord, kRecordLevelNames.size());
  Records records(cells.table.rows());
  for (const CoreColumn& column : core_columns()) column.scatter(cells.table, records);
  for (const CellRecord& record : records) {
    if (is_sha256(record.key)) continue;
    throw TableError("table cells: \"" + record.key + "\" is no key, which has 64 hex digits");
  }
  for (CellRecord& record : records) {
    record.axes.reserve(cells.axes.size());
    record.figures.reserve(cells.figures.size());
    record.notes.reserve(cells.notes.size());
  }
  ColumnNames names;
  for (const std::string& axis : cells.axes) {
    const Column& column = cells.table.column(names.axis(axis));
    for (std::size_t i = 0; i < records.size(); ++i) take_axis(column, i, axis, records[i]);
  }
  for (const std::string& figure : cells.figures) {
    const Column& column = cells.table.column(names.figure(figure));
    const auto& values = cells.table.values<double>(column.name);
    const SharedName name(figure), unit(column.unit);
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (std::isnan(values[i])) continue;
      records[i].figures.push_back({name, values[i], unit, column.is_volatile});
    }
  }
  for (const std::string& note : cells.notes) {
    const Column& column = cells.table.column(names.note(note));
    const auto& values = cells.table.values<std::string>(column.name);
    const SharedName name(note);
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!values[i].empty()) records[i].notes.push_back({name, values[i], column.is_volatile});
    }
  }
  if (!has_levels) std::for_each(records.begin(), records.end(), take_level_of_note);
  return records;
}

}  // namespace sweep
