#pragma once
#include <sys/types.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"

namespace sweep {

/// The record and tables of one cell. A cell that failed has no rows. In a shard, `record.rows`
/// says which rows of its tables are the cell's.
struct ShardContents {
  CellRecord record;  // figures and notes are filled from `result`
  CellResult result;

  /// In the order of kCellTables.
  std::array<const Table*, kCellTables.size()> tables() const;
  std::array<Table*, kCellTables.size()> tables();
};

/// Leaves the tables of this level, if the result has more, and the histograms of its steps. The
/// digest is that of the result before.
void keep_level(ShardContents& cell, RecordLevel level);

/// SHA-256 of a cell's outcome: key, status, reason, and everything in figures, notes and tables
/// that is not volatile. Columns with only NaN, 0 or empty texts do not count, so a table can gain
/// columns without changing its digest.
std::string content_digest(const CellRecord& record,
                           const std::array<const Table*, kCellTables.size()>& tables);

class Sha256;

/// The same from one table after another.
class ContentDigest {
 public:
  explicit ContentDigest(const CellRecord& record);
  ~ContentDigest();
  ContentDigest(const ContentDigest&) = delete;
  ContentDigest& operator=(const ContentDigest&) = delete;
  /// Adds the next table; `position` is its place in kCellTables, from 0 on.
  void add(std::size_t position, const Table& table);
  /// Must be the last call.
  std::string hex();

 private:
  std::unique_ptr<Sha256> sha_;
};

/// SHA-256 of every column of a table, including volatile ones.
std::string table_digest(const Table& table);

/// The bytes of a closed HDF5 file with the cells, at least one, followed by a line with their
/// SHA-256. The file is formed in memory, independent of any disk, and read back. Throws H5Error (a
/// runtime_error) when that fails, and TableError when the columns of a table differ in length.
std::string shard_bytes(std::vector<ShardContents> cells);
std::string shard_bytes(ShardContents cell);

/// Throws ArchiveDamaged, prefixed with `name`, unless the bytes are as shard_bytes() made them.
void check_shard_bytes(const std::string& bytes, const std::string& name);

/// Reads the shard of this key. Throws ArchiveDamaged when it is damaged or has another key, and
/// ArchiveIncompatible when a newer program wrote it.
ShardContents read_shard(const std::string& path, const std::string& key);
/// The records of all cells of a shard, from its bytes; `name` is for messages.
std::vector<CellRecord> shard_records(const std::string& bytes, const std::string& name);

/// Reads records from shards of which many may be one file, which is then read once.
class ShardRecords {
 public:
  /// Of the shard of this key, of which it checks all bytes. Throws like read_shard().
  CellRecord take(const std::string& path, const std::string& key);

 private:
  std::map<ino_t, std::vector<CellRecord>> shared_;  // of files with several cells
};

}  // namespace sweep
