#pragma once
// Private to this room.
#include <optional>
#include <string>
#include <vector>

#include "sweeps/archive/shard.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// A shard whose tables are taken one at a time, since those of a large cell take gigabytes.
class ShardReader {
 public:
  /// Throws like read_shard(), which checks as much: after this, every table can be read. The
  /// crew unpacks tables.
  explicit ShardReader(const std::string& path, Crew* crew = nullptr);
  const FileIdentity& identity() const { return identity_; }
  /// With its histograms. Throws ArchiveDamaged if the shard does not have the cell.
  const CellRecord& record(const std::string& key);
  /// The cell's rows of a table, by its position in kCellTables; may be called once for each.
  Table take(const std::string& key, std::size_t position);

 private:
  void check_tables(bool keep);
  void count_steps(const Table& steps);

  std::string name_;
  Crew* crew_;
  FileIdentity identity_;
  std::string bytes_;
  std::vector<CellRecord> records_;
  ShardContents contents_;      // tables of a small shard
  std::optional<H5File> file_;  // of a large shard
};

}  // namespace sweep
