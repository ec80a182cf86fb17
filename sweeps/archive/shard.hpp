#pragma once
#include <sys/types.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"

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

/// Columns of a table of kCellTables in this program's schema, without rows.
const Table& described_table(std::string_view name);

/// Leaves the tables of this level, if the result has more. The digest is that of the result
/// before.
void keep_level(ShardContents& cell, RecordLevel level);

/// SHA-256 of a cell's outcome: key, status, reason, and everything in figures, notes and tables
/// that is not volatile. Columns with only NaN, 0 or empty texts do not count, so a table can gain
/// columns without changing its digest.
std::string content_digest(const CellRecord& record,
                           const std::array<const Table*, kCellTables.size()>& tables);

/// The same from one table after another.
class ContentDigest {
 public:
  explicit ContentDigest(const CellRecord& record);
  /// Adds the next table; `position` is its place in kCellTables, from 0 on.
  void add(std::size_t position, const Table& table);
  /// Must be the last call.
  std::string hex() { return sha_.hex(); }

 private:
  Sha256 sha_;
};

/// SHA-256 of every column of a table, including volatile ones.
std::string table_digest(const Table& table);

/// The bytes and a line with their SHA-256.
std::string sealed(std::string bytes);
/// Throws ArchiveDamaged, prefixed with `name`, unless the bytes are as sealed() made them.
void check_seal(const std::string& bytes, const std::string& name);

/// The sealed tables of these cells, at least one, read back. Throws H5Error (a runtime_error) when
/// that fails, and TableError when the columns of a table differ in length.
std::string shard_bytes(std::vector<ShardContents> cells);
std::string shard_bytes(ShardContents cell);

class PackedTables;

/// A shard whose tables are taken one at a time, since those of a large cell take gigabytes.
class ShardReader {
 public:
  /// Checks all bytes. Throws ArchiveDamaged. `threads` unpack tables.
  explicit ShardReader(const std::string& path, int threads = 1);
  /// Of the bytes of a shard; `name` is for messages.
  ShardReader(std::string bytes, std::string name, int threads = 1);
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;
  ShardReader& operator=(ShardReader&&) noexcept;
  const FileIdentity& identity() const { return identity_; }
  /// Of all its cells.
  std::vector<CellRecord>& records() { return records_; }
  /// Throws ArchiveDamaged if the shard does not have the cell.
  CellRecord& record(const std::string& key);
  /// The cell's rows of a table, by its position in kCellTables.
  Table take(const std::string& key, std::size_t position);
  /// Whether it holds these, volatile columns aside. Reads some rows at a time.
  bool holds(const std::vector<CellRecord>& records,
             const std::array<const Table*, kCellTables.size()>& tables);

 private:
  Table whole_table(std::size_t position);

  std::string name_;
  FileIdentity identity_;
  std::unique_ptr<PackedTables> tables_;
  std::vector<CellRecord> records_;
  std::array<std::optional<Table>, kCellTables.size()> shared_;  // of several cells
};

/// Reads the shard of this key. Throws ArchiveDamaged when it is damaged or has another key.
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
