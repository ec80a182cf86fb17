#include "sweeps/archive/tables.hpp"

#include <algorithm>
#include <optional>

namespace sweep {

namespace {

constexpr hsize_t kWindowRows = 2 * kChunkRows;

/// Whether an archive of an earlier minor version lacks the table.
bool too_old_for(hid_t file, std::string_view table) {
  const auto later = std::span(kCellTables).subspan(kEarliestTables);
  return std::find(later.begin(), later.end(), table) != later.end() &&
         !has_object(file, std::string(table));
}

}  // namespace

const Table& described_table(std::string_view name) {
  static const ShardContents kNothing;
  const auto tables = kNothing.tables();
  return **std::find_if(tables.begin(), tables.end(),
                        [name](const Table* table) { return table->name == name; });
}

std::int64_t stored_rows(hid_t file, const std::string& table) {
  if (too_old_for(file, table)) return 0;
  const H5Group group(H5Gopen2(file, table.c_str(), H5P_DEFAULT), "open the table " + table);
  std::optional<hsize_t> rows;
  for (const std::string& name : read_texts_attribute(group.get(), "columns")) {
    const H5Dataset column(H5Dopen2(group.get(), name.c_str(), H5P_DEFAULT),
                           "open the column " + table + "/" + name);
    if (!rows) rows = rows_of(column.get());
    if (*rows == rows_of(column.get())) continue;
    throw H5Error("the columns of the table " + table + " differ in length");
  }
  return static_cast<std::int64_t>(rows.value_or(0));
}

TableReader::TableReader(hid_t file, const std::string& table, Crew* crew)
    : name_(table), crew_(crew) {
  if (too_old_for(file, table)) return;
  const H5Group group(H5Gopen2(file, name_.c_str(), H5P_DEFAULT), "open the table " + name_);
  for (const std::string& name : read_texts_attribute(group.get(), "columns")) {
    H5Dataset dataset = open_column(group.get(), name);
    H5Type type(H5Dget_type(dataset.get()), "get the type of the column " + name);
    Column column = describe_column(dataset.get(), type.get(), name);
    const hsize_t rows = rows_of(dataset.get());
    columns_.push_back({std::move(dataset), std::move(type), std::move(column), rows});
  }
}

std::int64_t TableReader::rows() const {
  return columns_.empty() ? 0 : static_cast<std::int64_t>(columns_.front().rows);
}

Table TableReader::read(RowRange range) {
  Table table{name_, {}};
  for (Stored& column : columns_) {
    if (column.described.name == "cell") continue;
    table.columns.push_back(column.described);
    table.columns.back().data =
        values(column, static_cast<hsize_t>(range.offset), static_cast<hsize_t>(range.rows));
  }
  add_missing_columns(table, described_table(name_));
  return table;
}

std::vector<std::int32_t> TableReader::cell_numbers(RowRange range) {
  if (columns_.empty()) return {};
  for (Stored& column : columns_) {
    if (column.described.name != "cell") continue;
    return std::get<std::vector<std::int32_t>>(
        values(column, static_cast<hsize_t>(range.offset), static_cast<hsize_t>(range.rows)));
  }
  throw H5Error("the table " + name_ + " has no column cell");
}

/// Rows that are read ahead cost nothing where they cannot be read.
ColumnData TableReader::values(Stored& column, hsize_t offset, hsize_t rows) const {
  const std::string name = name_ + "/" + column.described.name;
  const std::size_t size = H5Tget_size(column.type.get());
  if (offset > column.rows || rows > column.rows - offset)
    throw H5Error("the column " + name + " is shorter than its cells say");
  const auto read = [&](hsize_t first, hsize_t count) {
    return read_bytes(column.dataset.get(), column.type.get(), first, count, name, crew_);
  };
  const auto read_alone = [&] {
    return take_values(column.described.data, size, read(offset, rows).data(), rows);
  };
  if (rows > kWindowRows) return read_alone();  // as few cells have; their rows are not kept
  const hsize_t window_end = column.window_start + column.window.size() / size;
  if (offset < column.window_start || offset + rows > window_end) {
    const hsize_t start = offset - offset % kChunkRows;
    const hsize_t ahead =
        std::min(offset - start + std::max(rows, kWindowRows), column.rows - start);
    try {
      column.window = read(start, ahead);
      column.window_start = start;
    } catch (const H5Error&) {
      return read_alone();
    }
  }
  return take_values(column.described.data, size,
                     column.window.data() + (offset - column.window_start) * size, rows);
}

CellLoader::CellLoader(hid_t file, Crew* crew) {
  for (const std::string_view table : kCellTables)
    tables_.emplace_back(file, std::string(table), crew);
}

ShardContents CellLoader::load(const CellRecord& cell) {
  ShardContents contents;
  contents.record = cell;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    *contents.tables()[i] = tables_[i].read(cell.rows[i]);
  }
  contents.result.figures = cell.figures;
  contents.result.notes = cell.notes;
  return contents;
}

}  // namespace sweep
