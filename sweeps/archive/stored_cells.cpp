#include "sweeps/archive/tables.hpp"

namespace sweep {

namespace {

std::size_t first_of(RowRange range) { return static_cast<std::size_t>(range.offset); }
std::size_t count_of(RowRange range) { return static_cast<std::size_t>(range.rows); }

}  // namespace

CellTables::CellTables(
    const std::function<std::optional<StoredTable>(const std::string& table)>& find) {
  for (const std::string_view table : kCellTables) {
    const std::string name(table);
    tables_.push_back(find(name).value_or(StoredTable(name)));
  }
}

std::int64_t CellTables::rows(std::size_t table) const {
  return static_cast<std::int64_t>(tables_[table].rows());
}

void CellTables::check() const {
  for (const StoredTable& table : tables_) table.check();
}

Table CellTables::read(std::size_t table, RowRange range) {
  Table rows = tables_[table].read(first_of(range), count_of(range), "cell");
  add_missing_columns(rows, described_table(kCellTables[table]));
  return rows;
}

std::vector<std::int32_t> CellTables::cell_numbers(std::size_t table, RowRange range) {
  if (range.rows == 0) return {};
  return std::get<std::vector<std::int32_t>>(
      tables_[table].read_column("cell", first_of(range), count_of(range)).data);
}

ShardContents CellTables::load(const CellRecord& cell) {
  ShardContents contents;
  contents.record = cell;
  for (std::size_t i = 0; i < tables_.size(); ++i) *contents.tables()[i] = read(i, cell.rows[i]);
  contents.result.figures = cell.figures;
  contents.result.notes = cell.notes;
  return contents;
}

std::string CellTables::damage_of(const CellRecord& cell) {
  std::string names;
  for (std::size_t i = 0; i < tables_.size(); ++i)
    for (const std::string& name :
         tables_[i].damaged(first_of(cell.rows[i]), count_of(cell.rows[i])))
      names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace sweep
