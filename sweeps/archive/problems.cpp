#include <algorithm>
#include <utility>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/files/sha256.hpp"

namespace sweep {

namespace {

using Problems = std::vector<std::string>;

void check_identity(const std::vector<CellRecord>& cells, Problems& problems) {
  int row = 0;
  for (const CellRecord& cell : cells) {
    if (cell.index != row++) problems.push_back(name_of(cell) + " is not in its row");
    if (cell.key != sha256_of(cell.config_json)) {
      problems.push_back(name_of(cell) + ": its key is not the SHA-256 of its configuration");
    }
  }
}

/// Checks that every row of a table belongs to exactly one cell.
void check_ranges(const std::vector<CellRecord>& cells, std::size_t table, std::size_t rows,
                  Problems& problems) {
  std::vector<RowRange> ranges;
  for (const CellRecord& cell : cells)
    if (cell.rows[table].rows > 0) ranges.push_back(cell.rows[table]);
  std::ranges::sort(ranges, {}, &RowRange::offset);
  std::size_t next = 0;
  for (const RowRange& range : ranges) {
    if (range.offset != next) break;
    next += range.rows;
  }
  if (next == rows) return;
  problems.push_back("the cells' rows in the table " + std::string(kCellTables[table]) +
                     " overlap or leave some out at row " + std::to_string(next));
}

void check_enumerations(const Table& table, const std::string& cell, Problems& problems) {
  for (const Column& column : table.columns) {
    if (column.enum_names.empty()) continue;
    for (const std::int8_t value : std::get<std::vector<std::int8_t>>(column.data)) {
      if (value >= 0 && static_cast<std::size_t>(value) < column.enum_names.size()) continue;
      problems.push_back(cell + ": " + table.name + "/" + column.name + " holds " +
                         std::to_string(value) + ", which has no name");
      break;
    }
  }
}

void check_rows(StoredCells& archive, const CellRecord& cell, Problems& problems) {
  if (!cell.has_run()) return;
  Table rows;
  const auto checked_rows = [&](std::size_t i) -> const Table& {
    const std::string name(kCellTables[i]);
    rows = {name, {}};
    if (cell.rows[i].rows > 0) rows = archive.rows_of(cell, i);
    if (std::ranges::any_of(archive.cell_numbers(cell, i),
                            [&](std::int32_t number) { return number != cell.index; }))
      problems.push_back(name_of(cell) + ": its rows in the table " + name +
                         " carry another cell's number");
    check_enumerations(rows, name_of(cell), problems);
    return rows;
  };
  if (content_digest(cell, checked_rows) != cell.digest)
    problems.push_back(name_of(cell) + ": its results do not have their digest");
}

/// Throws H5Error unless the index that was read is the one that was written.
void check_index(const ArchiveIndex& found, const ArchiveIndex& written) {
  if (found.head != written.head || found.provenance.rows() != written.provenance.rows())
    throw H5Error("it is not described as it was written");
  if (found.cells_digest != table_digest(to_cells_table(written.cells)))
    throw H5Error("its cells are not those that were written");
}

}  // namespace

std::vector<std::string> problems_of(StoredCells& archive) {
  Problems problems;
  const std::vector<CellRecord>& cells = archive.index.cells;
  check_identity(cells, problems);
  if (!archive.spare_problem.empty())
    problems.push_back(archive.name + " is damaged: " + archive.spare_problem);
  for (std::size_t i = 0; i < kCellTables.size(); ++i)
    check_ranges(cells, i, archive.tables[i].rows(), problems);
  for (const CellRecord& cell : cells) {
    try {
      check_rows(archive, cell, problems);
    } catch (const H5Error& error) {
      problems.push_back(name_of(cell) + ": " + error.what());
    }
  }
  return problems;
}

std::string verify_archive_file(const std::string& path, const ArchiveIndex& written, int threads) {
  try {
    StoredCells archive = open_archive_file(path, threads);
    check_index(archive.index, written);
    const Problems problems = problems_of(archive);
    if (!problems.empty()) throw H5Error(problems.front());
    return archive.index.cells_digest;
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw ArchiveWriteFailed(
        "the file that was to replace the archive does not hold what was "
        "written to it: " +
        std::string(error.what()));
  }
}

}  // namespace sweep
