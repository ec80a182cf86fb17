#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/archive/shard.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// A shard whose tables are taken one at a time, since those of a large cell take gigabytes.
class ShardReader {
 public:
  /// Checks all bytes; throws like read_shard(). `threads` unpack tables.
  explicit ShardReader(const std::string& path, int threads = 1);
  /// Of the bytes of a shard; `name` is for messages.
  ShardReader(const std::string& bytes, std::string name);
  const FileIdentity& identity() const { return identity_; }
  hid_t file() const { return file_->get(); }
  /// Of all its cells; with their histograms, unless they have steps.
  std::vector<CellRecord>& records() { return records_; }
  /// Throws ArchiveDamaged if the shard does not have the cell.
  CellRecord& record(const std::string& key);
  /// A table of all its cells, by its position in kCellTables, and which rows of it are the cell's.
  /// Of a shard of one cell, the table before is given up.
  std::pair<const Table&, RowRange> rows(const std::string& key, std::size_t position);
  /// The cell's rows of a table; may be called once for each.
  Table take(const std::string& key, std::size_t position);

 private:
  std::string name_;
  int threads_ = 1;
  FileIdentity identity_;
  std::optional<H5File> file_;
  std::vector<CellRecord> records_;
  std::array<std::optional<Table>, kCellTables.size()> tables_;
};

}  // namespace sweep
