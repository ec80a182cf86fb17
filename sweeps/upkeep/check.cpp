#include "sweeps/upkeep/check.hpp"

#include <algorithm>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/archive/spare.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/chunks.hpp"

namespace sweep {

namespace {

using Problems = std::vector<std::string>;

std::string name_of(const CellRecord& cell) {
  return "cell " + std::to_string(cell.index) + " (" + cell.label + ")";
}

void check_identity(const OpenArchive& archive, Problems& problems) {
  int row = 0;
  for (const CellRecord& cell : archive.index.cells) {
    if (cell.index != row++) problems.push_back(name_of(cell) + " is not in its row");
    if (cell.key != sha256_of(cell.config_json.text())) {
      problems.push_back(name_of(cell) + ": its key is not the SHA-256 of its configuration");
    }
  }
}

/// Checks that every row of a table belongs to exactly one cell.
void check_ranges(const std::vector<CellRecord>& cells, std::size_t table, std::int64_t rows,
                  Problems& problems) {
  std::vector<RowRange> ranges;
  for (const CellRecord& cell : cells) {
    if (cell.rows[table].rows > 0) ranges.push_back(cell.rows[table]);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const RowRange& a, const RowRange& b) { return a.offset < b.offset; });
  std::int64_t next = 0;
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

void check_rows(CellTables& tables, const CellRecord& cell, Problems& problems) {
  const ShardContents contents = tables.load(cell);
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const std::vector<std::int32_t> numbers = tables.cell_numbers(i, cell.rows[i]);
    if (std::count(numbers.begin(), numbers.end(), cell.index) !=
        static_cast<std::ptrdiff_t>(numbers.size())) {
      problems.push_back(name_of(cell) + ": its rows in the table " + std::string(kCellTables[i]) +
                         " carry another cell's number");
    }
    check_enumerations(*contents.tables()[i], name_of(cell), problems);
  }
  if (cell.has_run() && content_digest(cell, contents.tables()) != cell.digest) {
    problems.push_back(name_of(cell) + ": its results do not have their digest");
  }
}

void check_shards(const std::string& archive, const std::vector<CellRecord>& cells,
                  Problems& problems) {
  const std::string path = resolved(archive);
  const std::vector<std::string> names = names_in(path + ".d");
  for (const CellRecord& cell : cells) {
    if (!std::binary_search(names.begin(), names.end(), cell.key + ".h5")) continue;
    try {
      static_cast<void>(read_shard(shard_path(path, cell.key), cell.key));
    } catch (const ArchiveError& error) {
      problems.push_back(error.what());
    }
  }
}

}  // namespace

Problems check_archive(const std::string& path) {
  check_is_file(path);
  Problems problems;
  try {
    OpenArchive archive = open_archive_file(path);
    check_identity(archive, problems);
    try {
      check_spare(archive.file.get());
      check_chunks(archive.file.get());
    } catch (const H5Error& error) {
      problems.push_back(path + " is damaged: " + error.what());
    }
    for (std::size_t i = 0; i < kCellTables.size(); ++i) {
      check_ranges(archive.index.cells, i, archive.tables.rows(i), problems);
    }
    for (const CellRecord& cell : archive.index.cells) {
      try {
        check_rows(archive.tables, cell, problems);
      } catch (const H5Error& error) {
        problems.push_back(name_of(cell) + ": " + error.what());
      }
    }
    check_shards(path, archive.index.cells, problems);
  } catch (const ArchiveError& error) {
    problems.push_back(error.what());
  } catch (const H5Error& error) {
    problems.push_back(path + " is damaged: " + error.what());
  }
  return problems;
}

}  // namespace sweep
