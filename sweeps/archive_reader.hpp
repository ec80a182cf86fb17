#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sweeps/archive_errors.hpp"
#include "sweeps/cells_table.hpp"
#include "sweeps/result.hpp"
#include "sweeps/shard.hpp"

namespace sweep {

/// Reads an archive, and the shards that its driver has not merged yet, at any instant and without
/// a lock. What is read stays what it was when the reader was made, except that a cell whose shard
/// has been merged since is read from the archive.
class ArchiveReader {
 public:
  /// Throws ArchiveDamaged or ArchiveIncompatible; FileError when there is no such file. Shards
  /// that are not whole are left out.
  explicit ArchiveReader(std::string path);
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  /// Every planned cell, in plan order.
  const std::vector<CellRecord>& cells() const;
  const std::string& sweep_name() const;
  const std::string& spec_text() const;
  const std::string& tool_version() const;
  const std::string& created_utc() const;
  /// One row per run of the driver, texts.
  const Table& provenance() const;

  /// All that a cell left behind; tables without rows for one that did not finish. Cells in plan
  /// order cost one pass over the archive. Throws ArchiveDamaged.
  ShardContents load(int row);
  /// One of kCellTables alone, without the column `cell`.
  Table load_table(int row, std::string_view table);

  /// How many cells come from shards beside the archive.
  int shards() const { return n_shards_; }

 private:
  struct Source;
  void open();

  std::string path_;
  std::unique_ptr<Source> source_;
  std::vector<bool> in_shard_;  // by row
  int n_shards_ = 0;
};

/// Keys of the results in an archive, those of shards beside it left out; none when there is no
/// archive or it cannot be read.
std::set<std::string> merged_results(const std::string& path);

}  // namespace sweep
