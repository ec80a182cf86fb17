#pragma once
// Tables of an archive, read by ranges of rows.
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/hdf5/column.hpp"

namespace sweep {

/// Columns of a table of kCellTables in this program's schema, without rows.
const Table& described_table(std::string_view name);

/// Number of rows of a stored table; 0 if the archive is too old to have it. Throws H5Error when it
/// is missing otherwise, or when its columns differ in length.
std::int64_t stored_rows(hid_t file, const std::string& table);

/// Reads ranges of rows. A table that the archive is too old to have reads as empty, and a column
/// that it is too old to have as NaN, 0 or empty texts. Ranges in ascending order cost one pass
/// over the file, whose chunks the crew unpacks.
class TableReader {
 public:
  TableReader(hid_t file, const std::string& table, Crew* crew = nullptr);
  /// Without the column `cell`.
  Table read(RowRange range);
  /// The column `cell` of these rows.
  std::vector<std::int32_t> cell_numbers(RowRange range);
  std::int64_t rows() const;

 private:
  struct Stored {
    H5Dataset dataset;
    H5Type type;
    Column described;
    hsize_t rows;
    hsize_t window_start = 0;    // first row of
    std::vector<char> window{};  // packed rows read ahead
  };
  ColumnData values(Stored& column, hsize_t offset, hsize_t rows) const;

  std::string name_;
  Crew* crew_;
  std::vector<Stored> columns_;
};

/// Reads whole cells from the tables of an archive file, which must stay open.
class CellLoader {
 public:
  explicit CellLoader(hid_t file, Crew* crew = nullptr);
  ShardContents load(const CellRecord& cell);
  TableReader& table(std::size_t position) { return tables_[position]; }  // in kCellTables

 private:
  std::vector<TableReader> tables_;
};

}  // namespace sweep
