#pragma once
// Private to this folder: tables of an archive that grow by cells, and are read by ranges of rows.
#include <span>
#include <string>
#include <vector>

#include "sweeps/cells_table.hpp"
#include "sweeps/h5_column.hpp"
#include "sweeps/shard.hpp"

namespace sweep {

/// Creates a table without rows that can grow. Its first column, before those of `schema`, is
/// `cell`: the row in /cells that a row belongs to.
void create_growing_table(hid_t file, const Table& schema);

/// Rows of a stored table; none of one that the archive is too old to have. Throws H5Error when its
/// columns differ in length, or it is missing.
std::int64_t stored_rows(hid_t file, const std::string& table);

/// Adds rows to such a table. Rows stay in memory until a chunk's worth has come together or
/// finish() is called; until then the file lacks them.
class TableAppender {
 public:
  TableAppender(hid_t file, const std::string& table);
  /// Returns where the rows will be. Columns that the table lacks are added to it, columns that
  /// `rows` lacks are filled with nothing. Throws H5Error when types of a column differ,
  /// ArchiveDamaged when what is stored cannot be read.
  RowRange append(const Table& rows, std::int32_t cell);
  /// Writes what is in memory and closes the table: the last call.
  void finish();
  std::int64_t rows() const { return stored_rows_ + pending_rows_; }

 private:
  struct Stored {
    H5Dataset dataset;
    H5Type type;
    Column pending;  // as it is described in the file, with the rows that are not there yet
  };
  void open(const std::string& name);
  Stored& find_or_add(const Column& column);
  void add_column(const Column& column, const H5Type& type);
  void flush();
  void flush(Stored& column);
  void make_room(Stored& column);
  void check_last_chunk(const Stored& column) const;
  std::vector<char> read_stored(const Stored& column, hsize_t first, hsize_t rows) const;
  void replace(Stored& column, const Column& described, std::size_t width);

  std::string name_;
  H5Group group_;
  std::vector<Stored> columns_;
  std::int64_t stored_rows_ = 0, pending_rows_ = 0;
};

/// By what the columns of a stored table are known: by the attributes that the file gives them, or,
/// where these may be damaged, by what this program calls them. Columns and tables that cannot be
/// opened are left out then.
enum class Described { by_file, by_program };

/// Reads ranges of rows, of a table that the archive is too old to have as well: it is empty.
/// Columns that the archive is too old to have hold nothing. Ranges in ascending order cost one
/// pass over the file.
class TableReader {
 public:
  TableReader(hid_t file, const std::string& table, Described how = Described::by_file);
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
  void open_as_described(hid_t file);
  void open_as_known(hid_t file);
  static ColumnData values(Stored& column, hsize_t offset, hsize_t rows);

  std::string name_;
  std::vector<Stored> columns_;
};

/// Adds whole cells to all tables of an archive file.
class CellAppender {
 public:
  explicit CellAppender(hid_t file);
  /// Sets the cell's row ranges and histograms.
  void append(CellRecord& cell, const ShardContents& contents);
  /// Writes what is in memory and closes all tables; returns the rows of each. The last call.
  std::array<RowRange, kCellTables.size()> finish();

 private:
  std::vector<TableAppender> tables_;
};

/// Reads whole cells from the tables of an archive file, which must stay open.
class CellLoader {
 public:
  explicit CellLoader(hid_t file, Described how = Described::by_file);
  ShardContents load(const CellRecord& cell);
  TableReader& table(std::size_t position) { return tables_[position]; }  // in kCellTables

 private:
  std::vector<TableReader> tables_;
};

/// Rows of one table for cells that get the numbers 0, 1, 2, ... in the order given.
struct MovedRows {
  std::int32_t cell;  // its new number
  RowRange from;
};

/// Copies a table with only these rows, in this order. One column at a time is in memory when it is
/// small, one cell of it otherwise.
void copy_rows(hid_t from, hid_t to, const std::string& table, std::span<const MovedRows> rows);

}  // namespace sweep
