#pragma once
// Private to this room.
#include <optional>
#include <string>

#include "sweeps/archive/shard.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// A shard whose tables are taken one at a time, since those of a large cell take gigabytes.
class ShardReader {
 public:
  /// Throws like read_shard(), which checks as much: after this, every table can be read.
  ShardReader(const std::string& path, const std::string& key);
  /// The rows of a table, by its position in kCellTables; may be called once for each.
  Table take(std::size_t position);
  const StepHistograms& histograms() const { return contents_.record.histograms; }

 private:
  void check_tables(const std::string& key);

  std::string name_, bytes_;
  ShardContents contents_;      // of a small shard; of a large one the record alone
  std::optional<H5File> file_;  // of a large shard
};

}  // namespace sweep
