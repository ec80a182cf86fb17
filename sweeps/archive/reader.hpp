#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
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
  const std::vector<CellRecord>& cells() const { return source_->index.cells; }
  /// Outcomes in shards of cells that the archive lacks.
  const std::vector<CellRecord>& further() const { return further_; }
  const std::string& sweep_name() const { return source_->index.head.sweep_name; }
  const std::string& spec_text() const { return source_->index.head.spec_text; }
  const std::string& tool_version() const { return source_->index.head.tool_version; }
  const std::string& created_utc() const { return source_->index.head.created_utc; }
  /// One row per run of the driver, texts.
  const Table& provenance() const { return source_->index.provenance; }

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
  bool take_shard(const std::string& file, const std::map<std::string_view, CellRecord*>& by_key);

  std::string path_;
  std::unique_ptr<StoredCells> source_;
  std::vector<std::unique_ptr<StoredCells>> replaced_;  // callers may still point to their records
  std::vector<std::string> shard_of_;                   // by row; empty: in the archive
  std::vector<CellRecord> further_;
  int n_shards_ = 0;
};

/// A sentence on a cell with a result at a level that lacks the table; empty if its level has it.
std::string lack_of_table(const CellRecord& cell, std::string_view table);

/// Keys of the results in an archive at this level or above, without those of shards beside it.
/// Empty when there is no archive or it cannot be read.
std::set<std::string> merged_results(const std::string& path, RecordLevel level);

}  // namespace sweep
