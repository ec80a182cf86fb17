#pragma once
// Tables of an archive, read by ranges of rows.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/archive/contents.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

/// The tables of kCellTables, by their positions in it. A table that the archive does not have is
/// empty, and a column that it is too old to have reads as NaN, 0 or empty texts. Ranges in
/// ascending order cost one pass over the file.
class CellTables {
 public:
  CellTables() = default;
  /// The tables that `find` finds.
  explicit CellTables(
      const std::function<std::optional<StoredTable>(const std::string& table)>& find);
  std::int64_t rows(std::size_t table) const;
  /// Compares every chunk with its checksum. Throws H5Error.
  void check() const;
  /// Rows of a table, without the column `cell`.
  Table read(std::size_t table, RowRange range);
  /// The column `cell` of these rows.
  std::vector<std::int32_t> cell_numbers(std::size_t table, RowRange range);
  /// A whole cell.
  ShardContents load(const CellRecord& cell);
  /// The columns of which its rows are damaged: "steps/n_tok, turns/job".
  std::string damage_of(const CellRecord& cell);

 private:
  std::vector<StoredTable> tables_;
};

}  // namespace sweep
