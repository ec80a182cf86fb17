#pragma once
// Tables of an archive: appended to cell by cell, read by ranges of rows.
#include <span>
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/hdf5/column.hpp"
#include "sweeps/hdf5/direct_chunks.hpp"

namespace sweep {

/// Creates an empty table that can grow. Its first column, before those of `schema`, is `cell`: the
/// row in /cells that a row belongs to.
void create_growing_table(hid_t file, const Table& schema);

/// Number of rows of a stored table; 0 if the archive is too old to have it. Throws H5Error when it
/// is missing otherwise, or when its columns differ in length.
std::int64_t stored_rows(hid_t file, const std::string& table);

/// Appends rows to such a table. Rows are buffered in memory until they fill chunks or finish() is
/// called; until then the file lacks them. The crew packs columns.
class TableAppender {
 public:
  TableAppender(hid_t file, const std::string& table, Crew* crew);
  /// Returns where the rows will be. Adds columns that the table lacks; fills columns that `rows`
  /// lacks with NaN, 0 or empty texts. Throws H5Error when the types of a column differ, and
  /// ArchiveDamaged when stored rows cannot be read.
  RowRange append(const Table& rows, std::int32_t cell);
  /// Writes the buffered rows and closes the table. Must be the last call.
  void finish();
  std::int64_t rows() const { return stored_rows_ + pending_rows_; }

 private:
  struct Stored {
    H5Dataset dataset;
    H5Type type;
    Column pending;  // described as in the file, with the rows not yet written
  };
  void open(const std::string& name);
  Stored& find_or_add(const Column& column);
  void add_column(const Column& column, const H5Type& type);
  void take_description(const Column& column);
  void append_slice(const Table& rows, RowSlice slice, std::int32_t cell);
  void take_last_chunk();
  void flush(std::int64_t rows);
  ChunkShape shape_of(const Stored& column) const;
  void make_room(Stored& column);
  std::vector<char> read_stored(const Stored& column, hsize_t first, hsize_t rows) const;
  void replace(Stored& column, const Column& described, std::size_t width);

  std::string name_;
  Crew* crew_;
  H5Group group_;
  std::vector<Stored> columns_;
  std::int64_t stored_rows_ = 0, pending_rows_ = 0;
};

/// Where the columns of a stored table are described. by_file: in the file's attributes.
/// by_program: in this program's schema, for files with damaged attributes; columns and tables that
/// cannot be opened are then left out.
enum class Described { by_file, by_program };

/// Reads ranges of rows. A table that the archive is too old to have reads as empty, and a column
/// that it is too old to have as NaN, 0 or empty texts. Ranges in ascending order cost one pass
/// over the file, whose chunks the crew unpacks.
class TableReader {
 public:
  TableReader(hid_t file, const std::string& table, Described how = Described::by_file,
              Crew* crew = nullptr);
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
  ColumnData values(Stored& column, hsize_t offset, hsize_t rows) const;

  std::string name_;
  Crew* crew_;
  std::vector<Stored> columns_;
};

/// Adds whole cells to all tables of an archive file.
class CellAppender {
 public:
  explicit CellAppender(hid_t file, Crew* crew = nullptr);
  /// Sets the cell's row ranges and histograms.
  void append(CellRecord& cell, const ShardContents& contents);
  /// The same for one table, by its position in kCellTables, without the histograms.
  void append(CellRecord& cell, std::size_t table, const Table& rows);
  /// Writes the buffered rows, closes all tables and returns the rows of each. Must be the last
  /// call.
  std::array<RowRange, kCellTables.size()> finish();

 private:
  std::vector<TableAppender> tables_;
};

/// Reads whole cells from the tables of an archive file, which must stay open.
class CellLoader {
 public:
  explicit CellLoader(hid_t file, Described how = Described::by_file, Crew* crew = nullptr);
  ShardContents load(const CellRecord& cell);
  TableReader& table(std::size_t position) { return tables_[position]; }  // in kCellTables

 private:
  std::vector<TableReader> tables_;
};

/// The rows of one table for one cell, which gets a new number.
struct MovedRows {
  std::int32_t cell;  // its new number
  RowRange from;
};

/// Copies a table with only these rows, in this order. Of one column at a time it holds `unpacked`
/// bytes of chunks, or one chunk, and the rows of one cell.
void copy_rows(hid_t from, hid_t to, const std::string& table, std::span<const MovedRows> rows,
               std::size_t unpacked = std::size_t{64} << 20);

}  // namespace sweep
