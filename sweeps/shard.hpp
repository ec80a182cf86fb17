#pragma once
#include <array>
#include <string>

#include "sweeps/cells_table.hpp"

namespace sweep {

/// What a cell leaves behind, on its way into an archive. A cell that failed has no rows.
struct ShardContents {
  CellRecord record;  // figures and notes are filled from `result`
  CellResult result;

  /// In the order of kCellTables.
  std::array<const Table*, kCellTables.size()> tables() const;
  std::array<Table*, kCellTables.size()> tables();
};

/// SHA-256 of what the cell found out: key, status, reason, and whatever is not volatile in
/// figures, notes and tables. Columns that hold nothing at all (NaN, 0, empty) do not count, so
/// that a table may gain columns.
std::string content_digest(const CellRecord& record,
                           const std::array<const Table*, kCellTables.size()>& tables);

/// SHA-256 of every column of a table, volatile ones too.
std::string table_digest(const Table& table);

/// The bytes of a closed HDF5 file with everything in it, followed by a line with their SHA-256.
/// The file is formed in memory, where no disk can be full, slow or missing, and read back. Throws
/// H5Error (a runtime_error) when that fails, and TableError for tables whose columns differ in
/// length.
std::string shard_bytes(ShardContents contents);

/// Throws ArchiveDamaged, with `name` in front, when the bytes are not as shard_bytes made them.
void check_shard_bytes(const std::string& bytes, const std::string& name);

/// Reads a shard of this key. Throws ArchiveDamaged when it is not whole or of another key, and
/// ArchiveIncompatible when a newer program wrote it.
ShardContents read_shard(const std::string& path, const std::string& key);
/// The same of bytes; `name` is for messages.
ShardContents shard_contents(const std::string& bytes, const std::string& key,
                             const std::string& name);
/// The record alone, without its histograms. All bytes are checked all the same.
CellRecord read_shard_record(const std::string& path, const std::string& key);
/// The record of the shard with these bytes; `name` is for messages.
CellRecord shard_record(const std::string& bytes, const std::string& key, const std::string& name);

}  // namespace sweep
