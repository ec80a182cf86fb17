#pragma once
// Cells as archives and shards store them.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/archive/contents.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

/// The cells of a file, an archive or a shard, and their tables, which are read one at a time,
/// since those of a large cell take gigabytes. A table is given by its position in kCellTables.
/// Cells in ascending order cost one pass over the file.
struct StoredCells {
  /// A table that `find` does not find is empty. It is asked for each of kCellTables, in this
  /// order.
  StoredCells(std::string name, ArchiveIndex index,
              const std::function<std::optional<StoredTable>(const std::string& table)>& find);
  std::string name;    // of the file, for messages
  ArchiveIndex index;  // of a shard, cells alone
  std::vector<StoredTable> tables;
  std::string spare_problem;  // of an archive: what is wrong with its spare copy

  // These throw ArchiveDamaged.
  CellRecord& record(const std::string& key);
  /// Rows of a cell, without the column `cell`. A column that the file is too old to have reads as
  /// NaN, 0 or empty texts.
  Table read(const CellRecord& cell, std::size_t table);
  ShardContents load(const CellRecord& cell);
  ShardContents load(const std::string& key) { return load(record(key)); }
  /// Compares every chunk with its checksum.
  void check() const;

  // These throw H5Error.
  Table rows_of(const CellRecord& cell, std::size_t table);
  /// The column `cell` of those rows.
  std::vector<std::int32_t> cell_numbers(const CellRecord& cell, std::size_t table);
  /// The columns of which its rows are damaged: "steps/n_tok, turns/job".
  std::string damage_of(const CellRecord& cell);
};

}  // namespace sweep
