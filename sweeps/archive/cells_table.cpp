#include "sweeps/archive/cells_table.hpp"

#include <algorithm>
#include <cmath>

#include "sweeps/files/sha256.hpp"

namespace sweep {

namespace {

using Cells = std::span<const CellRecord>;
using Records = std::vector<CellRecord>;

// ---- columns that every cell has

/// How a member is stored.
template <class T>
using Stored = std::conditional_t<kIsEnumerated<T>, std::int8_t, T>;

constexpr std::string_view kRecord = "record";

struct About {
  std::string_view name, unit, long_name;
  bool is_volatile = false;
  bool may_be_missing = false;  // as of earlier minor versions
};

/// Calls `use` with each column and its member of a cell.
template <class Cell, class Use>
void for_each_member(Cell&& cell, const Use& use) {
  use(About{"cell", "", "row of this table; column of the same name in the others"}, cell.index);
  use(About{"key", "", "SHA-256 of config_json"}, cell.key);
  use(About{"label", "", "the cell's place on the axes"}, cell.label);
  use(About{"status", "", "what became of the cell"}, cell.status);
  use(About{"reason", "", "why it is not ok"}, cell.reason);
  use(About{"backend", "", "what executed the model"}, cell.backend);
  use(About{"repeat", "", "position among the repeats"}, cell.repeat);
  use(About{"seed", "", "seed of the arrivals"}, cell.seed);
  use(About{kRecord, "", "how much of the result is stored", false, true}, cell.level);
  use(About{"kept", "", "whether it is a result of another setting, which the plan lacks", false,
            true},
      cell.kept);
  use(About{"digest", "", "SHA-256 of the results, volatile columns left out"}, cell.digest);
  use(About{"attempts", "", "times that the cell was started", kVolatile}, cell.run.attempts);
  use(About{"program", "", "version and commit of the program that ran it", kVolatile, true},
      cell.run.program);
  use(About{"host", "", "machine that ran it", kVolatile}, cell.run.host);
  use(About{"rank", "", "MPI rank that ran it", kVolatile}, cell.run.rank);
  use(About{"gpu_name", "", "device name", kVolatile}, cell.run.gpu_name);
  use(About{"gpu_uuid", "", "device UUID", kVolatile}, cell.run.gpu_uuid);
  use(About{"gpu_memory_bytes", "B", "device memory", kVolatile}, cell.run.gpu_memory_bytes);
  use(About{"slurm_job", "", "SLURM job that ran it", kVolatile}, cell.run.slurm_job);
  use(About{"t_start_utc", "", "start", kVolatile}, cell.run.t_start_utc);
  use(About{"t_end_utc", "", "end", kVolatile}, cell.run.t_end_utc);
  use(About{"wall_s", "s", "time from start to end", kVolatile}, cell.run.wall_s);
  use(About{"config_json", "", "everything that the results depend on"}, cell.config_json);
}

/// The columns of all members.
Table members_table(Cells cells) {
  Table table{"cells", {}};
  for_each_member(CellRecord(), [&]<class Member>(const About& about, const Member& member) {
    Column& column = table.columns.emplace_back(Column{std::string(about.name),
                                                       std::string(about.unit),
                                                       std::string(about.long_name),
                                                       about.is_volatile,
                                                       {},
                                                       std::vector<Stored<Member>>()});
    if constexpr (kIsEnumerated<Member>)
      column.enum_names.assign(enum_names(member).begin(), enum_names(member).end());
  });
  for (const CellRecord& cell : cells) {
    auto column = table.columns.begin();
    for_each_member(cell, [&]<class Member>(const About&, const Member& member) {
      using Value = Stored<Member>;
      std::get<std::vector<Value>>((column++)->data).push_back(static_cast<Value>(member));
    });
  }
  return table;
}

/// The inverse. Throws TableError when a column is missing.
void take_members(const Table& table, Records& records) {
  std::vector<const Column*> columns;
  for_each_member(CellRecord(), [&]<class Member>(const About& about, const Member&) {
    const bool is_there = !about.may_be_missing || table.has(about.name);
    if (is_there) static_cast<void>(table.values<Stored<Member>>(about.name));  // of this type
    columns.push_back(is_there ? &table.column(about.name) : nullptr);
  });
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto next = columns.begin();
    for_each_member(records[i], [&]<class Member>(const About&, Member& member) {
      const Column* column = *next++;
      if (column == nullptr) return;
      member = static_cast<Member>(std::get<std::vector<Stored<Member>>>(column->data)[i]);
    });
  }
}

/// Adds where the cells have rows: columns of the tables that have any.
void add_ranges(Cells cells, std::vector<Column>& columns) {
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const std::string table(kCellTables[i]);
    std::vector<std::int64_t> offsets, rows;
    for (const CellRecord& cell : cells) {
      offsets.push_back(static_cast<std::int64_t>(cell.rows[i].offset));
      rows.push_back(static_cast<std::int64_t>(cell.rows[i].rows));
    }
    if (std::ranges::count(rows, 0) == std::ssize(rows)) continue;
    columns.push_back(
        {table + "_off", "", "first row of the cell in /" + table, false, {}, std::move(offsets)});
    columns.push_back(
        {table + "_n", "", "rows of the cell in /" + table, false, {}, std::move(rows)});
  }
}

void take_ranges(const Table& cells, Records& records) {
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const std::string table(kCellTables[i]);
    if (!cells.has(table + "_n")) continue;
    const auto& offsets = cells.values<std::int64_t>(table + "_off");
    const auto& rows = cells.values<std::int64_t>(table + "_n");
    for (std::size_t row = 0; row < records.size(); ++row)
      records[row].rows[i] = {static_cast<std::size_t>(offsets[row]),
                              static_cast<std::size_t>(rows[row])};
  }
}

/// Whether a table's row ranges are, or would be, columns of this name.
bool is_range(std::string_view name) {
  return std::ranges::any_of(kCellTables, [&](std::string_view table) {
    return name.starts_with(table) &&
           (name.substr(table.size()) == "_off" || name.substr(table.size()) == "_n");
  });
}

// ---- columns that some cells have: axes, figures, notes

/// Adds a column of this kind. It has its own name unless another column has that.
void add_kind(Table& cells, std::string_view kind, const std::string& name, Column column) {
  column.long_name = std::string(kind) + ' ' + name;
  column.name = name;
  std::ranges::replace(column.name, '/', '_');  // HDF5 would read '/' as a path
  while (is_range(column.name) || cells.has(column.name)) (column.name += '_') += kind;
  cells.columns.push_back(std::move(column));
}

/// The name that a column of this kind was added with; empty if it is none.
std::string_view name_in(const Column& column, std::string_view kind) {
  const std::string_view name = column.long_name;
  const bool is_one = name.starts_with(kind) && name.substr(kind.size()).starts_with(' ');
  return is_one ? name.substr(kind.size() + 1) : "";
}

// ---- axes

/// The value of each cell; null in cells that lack the axis.
using AxisColumn = std::vector<const Value*>;

template <class... Kinds>
bool all_are(const AxisColumn& values, bool may_be_missing = false) {
  return std::ranges::all_of(values, [may_be_missing](const Value* value) {
    return value == nullptr ? may_be_missing : (std::holds_alternative<Kinds>(*value) || ...);
  });
}

std::int64_t as_whole(const Value* value) { return std::get<std::int64_t>(*value); }
std::int8_t as_boolean(const Value* value) { return std::get<bool>(*value) ? 1 : 0; }
std::string as_text(const Value* value) { return value != nullptr ? bare_text(*value) : ""; }
double as_number(const Value* value) {
  if (value == nullptr) return kNotObserved;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  return std::get<double>(*value);
}

template <class T>
ColumnData converted(const AxisColumn& values, T convert(const Value*)) {
  std::vector<T> all(values.size());
  std::ranges::transform(values, all.begin(), convert);
  return all;
}

Column axis_column(Cells cells, const std::string& axis) {
  Column column{"", axis.ends_with("_gib") ? "GiB" : "", "", false, {}, {}};
  AxisColumn values;
  for (const CellRecord& cell : cells) values.push_back(value_on(cell.axes, axis));
  if (all_are<std::int64_t>(values)) {
    column.data = converted(values, as_whole);
  } else if (all_are<std::int64_t, double>(values, true)) {
    column.data = converted(values, as_number);
  } else if (all_are<bool>(values)) {
    column.enum_names = {"FALSE", "TRUE"};
    column.data = converted(values, as_boolean);
  } else {
    column.data = converted(values, as_text);
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

const std::vector<Figure>& parts_of(const CellRecord& cell, const Figure&) { return cell.figures; }
const std::vector<Note>& parts_of(const CellRecord& cell, const Note&) { return cell.notes; }

double value_of(const Figure* figure) { return figure == nullptr ? kNotObserved : figure->value; }
std::string value_of(const Note* note) { return note == nullptr ? "" : note->text; }

/// The part of the same name that is as volatile, which programs may say differently.
template <class Part>
const Part* find_kind(const std::vector<Part>& parts, const Part& kind) {
  for (const Part& part : parts)
    if (part.name == kind.name && part.is_volatile == kind.is_volatile) return &part;
  return nullptr;
}

/// One of each kind that a cell has.
template <class Part>
std::vector<Part> kinds_in(Cells cells) {
  std::vector<Part> kinds;
  for (const CellRecord& cell : cells)
    for (const Part& part : parts_of(cell, Part()))
      if (find_kind(kinds, part) == nullptr) kinds.push_back(part);
  return kinds;
}

template <class Part>
Column part_column(Cells cells, const Part& kind, const std::string& unit = "") {
  std::vector<decltype(value_of(&kind))> values;
  values.reserve(cells.size());
  for (const CellRecord& cell : cells)
    values.push_back(value_of(find_kind(parts_of(cell, kind), kind)));
  return {"", unit, "", kind.is_volatile, {}, std::move(values)};
}

std::vector<std::string> axes_in(Cells cells) {
  std::vector<std::string> axes;
  for (const CellRecord& cell : cells)
    for (const auto& [axis, value] : cell.axes)
      if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  return axes;
}

/// Throws TableError for a number without a name.
void check_enumeration(const Table& cells, const std::string& column, std::size_t names) {
  for (const std::int8_t value : cells.values<std::int8_t>(column)) {
    if (value >= 0 && static_cast<std::size_t>(value) < names) continue;
    throw TableError("table cells: there is no " + column + ' ' + std::to_string(value));
  }
}

}  // namespace

CellRecord without_outcome(const CellRecord& cell) {
  CellRecord planned = cell;
  take_outcome(planned, {});
  if (!cell.kept) return planned;
  planned.status = CellStatus::excluded;
  planned.reason = "the plan lacks it, and the result that was kept of it was damaged";
  return planned;
}

Table to_cells_table(Cells cells) {
  Table table = members_table(cells);
  add_ranges(cells, table.columns);
  for (const std::string& axis : axes_in(cells))
    add_kind(table, kAxis, axis, axis_column(cells, axis));
  for (const Figure& figure : kinds_in<Figure>(cells))
    add_kind(table, kFigure, figure.name, part_column(cells, figure, figure.unit));
  for (const Note& note : kinds_in<Note>(cells))
    add_kind(table, kNote, note.name, part_column(cells, note));
  return table;
}

std::vector<std::string> names_of(const Table& cells, std::string_view kind) {
  std::vector<std::string> names;
  for (const Column& column : cells.columns)
    if (const std::string_view name = name_in(column, kind); !name.empty())
      names.emplace_back(name);
  return names;
}

std::vector<CellRecord> to_records(const Table& cells) {
  const bool has_levels = cells.has(kRecord);
  check_enumeration(cells, "status", enum_names(CellStatus{}).size());
  if (has_levels) check_enumeration(cells, std::string(kRecord), enum_names(RecordLevel{}).size());
  Records records(cells.rows());
  take_members(cells, records);
  take_ranges(cells, records);
  const std::size_t axes = names_of(cells, kAxis).size(), figures = names_of(cells, kFigure).size(),
                    notes = names_of(cells, kNote).size();
  for (CellRecord& record : records) {
    if (!is_sha256(record.key))
      throw TableError("table cells: \"" + record.key + "\" is no key, which has 64 hex digits");
    record.axes.reserve(axes);
    record.figures.reserve(figures);
    record.notes.reserve(notes);
  }
  for (const Column& column : cells.columns) {
    const std::string axis(name_in(column, kAxis));
    const SharedName figure(name_in(column, kFigure)), note(name_in(column, kNote)),
        unit(column.unit);
    for (std::size_t i = 0; !axis.empty() && i < records.size(); ++i)
      take_axis(column, i, axis, records[i]);
    if (!figure.text().empty()) {
      const auto& values = cells.values<double>(column.name);
      for (std::size_t i = 0; i < records.size(); ++i)
        if (!std::isnan(values[i]))
          records[i].figures.push_back({figure, values[i], unit, column.is_volatile});
    }
    if (!note.text().empty()) {
      const auto& values = cells.values<std::string>(column.name);
      for (std::size_t i = 0; i < records.size(); ++i)
        if (!values[i].empty()) records[i].notes.push_back({note, values[i], column.is_volatile});
    }
  }
  // Before schema 1.6 a cell without rows of its steps was told by its note.
  for (CellRecord& record : records)
    if (!has_levels && find_named(record.notes, kSummaryOf)) record.level = RecordLevel::jobs;
  return records;
}

}  // namespace sweep
