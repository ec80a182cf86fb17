#include "sweeps/archive/tables.hpp"

#include <algorithm>

namespace sweep {

const Table& described_table(std::string_view name) {
  static const ShardContents kNothing;
  const auto tables = kNothing.tables();
  return **std::find_if(tables.begin(), tables.end(),
                        [name](const Table* table) { return table->name == name; });
}

CellTables::CellTables(hid_t file, int threads) {
  for (const std::string_view each : kCellTables) {
    const std::string table(each);
    tables_.push_back(has_object(file, table) ? StoredTable(file, table, threads)
                                              : StoredTable(table));
  }
}

std::int64_t CellTables::rows(std::size_t table) const {
  return static_cast<std::int64_t>(tables_[table].rows());
}

Table CellTables::read(std::size_t table, RowRange range) {
  Table rows = tables_[table].read(static_cast<hsize_t>(range.offset),
                                   static_cast<hsize_t>(range.rows), "cell");
  add_missing_columns(rows, described_table(kCellTables[table]));
  return rows;
}

std::vector<std::int32_t> CellTables::cell_numbers(std::size_t table, RowRange range) {
  if (range.rows == 0) return {};
  return std::get<std::vector<std::int32_t>>(
      tables_[table]
          .read_column("cell", static_cast<hsize_t>(range.offset), static_cast<hsize_t>(range.rows))
          .data);
}

ShardContents CellTables::load(const CellRecord& cell) {
  ShardContents contents;
  contents.record = cell;
  for (std::size_t i = 0; i < tables_.size(); ++i) *contents.tables()[i] = read(i, cell.rows[i]);
  contents.result.figures = cell.figures;
  contents.result.notes = cell.notes;
  return contents;
}

}  // namespace sweep
