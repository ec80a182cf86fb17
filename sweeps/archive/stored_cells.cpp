#include "sweeps/archive/stored_cells.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/archive/failures.hpp"

namespace sweep {

StoredCells::StoredCells(
    std::string file, ArchiveIndex cells,
    const std::function<std::optional<StoredTable>(const std::string& table)>& find)
    : name(std::move(file)), index(std::move(cells)) {
  for (const std::string_view table : kCellTables)
    tables.push_back(find(std::string(table)).value_or(StoredTable(std::string(table))));
}

CellRecord& StoredCells::record(const std::string& key) {
  const auto found = std::ranges::find(index.cells, key, &CellRecord::key);
  if (found == index.cells.end())
    throw ArchiveDamaged(name + " is damaged: it holds the cell " + index.cells.front().key);
  return *found;
}

Table StoredCells::read(const CellRecord& cell, std::size_t table) {
  return reading(name, [&] { return rows_of(cell, table); });
}

ShardContents StoredCells::load(const CellRecord& cell) {
  ShardContents contents{cell, {}};
  for (std::size_t i = 0; i < tables.size(); ++i) *contents.tables()[i] = read(cell, i);
  contents.result.figures = cell.figures;
  contents.result.notes = cell.notes;
  return contents;
}

void StoredCells::check() const {
  for (const StoredTable& table : tables) reading(name, [&] { table.check(); });
}

Table StoredCells::rows_of(const CellRecord& cell, std::size_t table) {
  Table rows = tables[table].read(cell.rows[table], "cell");
  add_missing_columns(rows, described_table(kCellTables[table]));
  return rows;
}

std::vector<std::int32_t> StoredCells::cell_numbers(const CellRecord& cell, std::size_t table) {
  if (cell.rows[table].rows == 0) return {};
  return std::get<std::vector<std::int32_t>>(
      tables[table].read_column("cell", cell.rows[table]).data);
}

std::string StoredCells::damage_of(const CellRecord& cell) {
  std::string names;
  for (std::size_t i = 0; i < tables.size(); ++i)
    for (const std::string& damaged : tables[i].damaged(cell.rows[i]))
      names += (names.empty() ? "" : ", ") + damaged;
  return names;
}

}  // namespace sweep
