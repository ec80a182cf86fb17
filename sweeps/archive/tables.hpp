#pragma once
// Tables of an archive, read by ranges of rows.
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

/// Columns of a table of kCellTables in this program's schema, without rows.
const Table& described_table(std::string_view name);

/// The tables of kCellTables, by their positions in it, of an archive file, which must stay open. A
/// table that the archive does not have is empty, and a column that it is too old to have reads as
/// NaN, 0 or empty texts. Ranges in ascending order cost one pass over the file, whose
/// chunks `threads` unpack.
class CellTables {
 public:
  /// Throws H5Error when the columns of a table differ in length.
  explicit CellTables(hid_t file, int threads = 1);
  std::int64_t rows(std::size_t table) const;
  /// Rows of a table, without the column `cell`.
  Table read(std::size_t table, RowRange range);
  /// The column `cell` of these rows.
  std::vector<std::int32_t> cell_numbers(std::size_t table, RowRange range);
  /// A whole cell.
  ShardContents load(const CellRecord& cell);

 private:
  std::vector<StoredTable> tables_;
};

}  // namespace sweep
