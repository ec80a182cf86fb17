#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "sweeps/archive/tables.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

/// The bytes and a line with their SHA-256.
std::string sealed(std::string bytes);
/// Throws ArchiveDamaged, prefixed with `name`, unless the bytes are as sealed() made them.
void check_seal(const std::string& bytes, const std::string& name);

/// The sealed tables of these cells, at least one. Throws TableError when the columns of a table
/// differ in length.
std::string shard_bytes(std::vector<ShardContents> cells);
std::string shard_bytes(ShardContents cell);

/// A shard, of which the tables are taken one at a time, since those of a large cell take
/// gigabytes. What it throws is ArchiveDamaged, or ArchiveIncompatible if a later program wrote it.
class ShardReader {
 public:
  /// Checks all bytes. `threads` unpack tables.
  explicit ShardReader(const std::string& path, int threads = 1);
  /// Of the bytes of a shard; `name` is for messages.
  ShardReader(std::string bytes, std::string name, int threads = 1);
  const FileIdentity& identity() const { return identity_; }
  /// Of all its cells.
  std::vector<CellRecord>& records() { return records_; }
  /// Throws if the shard does not have the cell.
  CellRecord& record(const std::string& key);
  /// The cell's rows of a table, by its position in kCellTables.
  Table take(const std::string& key, std::size_t position);
  /// All that it has of the cell.
  ShardContents load(const std::string& key);

 private:
  std::string name_;
  FileIdentity identity_;
  std::vector<CellRecord> records_;
  CellTables tables_;
};

/// Reads records from shards of which many may be one file, which is then read once.
class ShardRecords {
 public:
  /// Of the shard of this key, of which it checks all bytes. Throws as ShardReader.
  CellRecord take(const std::string& path, const std::string& key);

 private:
  std::map<ino_t, std::vector<CellRecord>> shared_;  // of files with several cells
};

}  // namespace sweep
