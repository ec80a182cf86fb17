#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/tables/result.hpp"

namespace sweep {

/// Reads an archive and the shards that its driver has not merged yet, at any time and without a
/// lock. A reader shows the state at its construction. If a shard is merged later, the cell is read
/// from the archive.
class ArchiveReader {
 public:
  /// Throws ArchiveDamaged or ArchiveIncompatible, and FileError when there is no such file.
  /// Ignores damaged shards.
  explicit ArchiveReader(std::string path);

  /// Every planned cell, in plan order. The records live as long as the reader.
  const std::vector<CellRecord>& cells() const;
  const std::string& sweep_name() const;
  const std::string& spec_text() const;
  const std::string& tool_version() const;
  const std::string& created_utc() const;
  /// One row per run of the driver, texts.
  const Table& provenance() const;

  /// Everything stored for a cell; the tables have no rows if it did not finish. Loading all cells
  /// in plan order costs one pass over the archive. Throws ArchiveDamaged.
  ShardContents load(int row);
  /// A single table of kCellTables, without the column `cell`.
  Table load_table(int row, std::string_view table);

  /// Number of cells read from shards beside the archive.
  int shards() const { return n_shards_; }

 private:
  void open();
  bool open_once();

  std::string path_;
  std::unique_ptr<StoredCells> source_;
  std::vector<std::unique_ptr<StoredCells>> replaced_;  // callers may still point to their records
  std::vector<bool> in_shard_;                          // by row
  int n_shards_ = 0;
};

/// A sentence on a cell with a result at a level that lacks the table; empty if its level has it.
std::string lack_of_table(const CellRecord& cell, std::string_view table);

/// Keys of the results in an archive at this level or above, without those of shards beside it.
/// Empty when there is no archive or it cannot be read.
std::set<std::string> merged_results(const std::string& path, RecordLevel level);

}  // namespace sweep
