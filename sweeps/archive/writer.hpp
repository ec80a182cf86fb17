#pragma once
// Writes archive files: the only way in which one comes to be.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/hdf5/chunks.hpp"
#include "sweeps/hdf5/column.hpp"

namespace sweep {

/// What identifies a stored chunk: its bytes end with their Fletcher checksum.
struct ChunkSum {
  std::int32_t bytes = 0;
  std::int64_t sum = 0;
};

/// A column as it is stored, and its chunks.
struct StoredColumn {
  std::string table;
  Column column;          // without rows
  std::size_t width = 1;  // bytes of a text
  std::int64_t rows = 0;
  std::int64_t chunk_rows = kChunkRows;
  std::vector<ChunkSum> chunks;
};

/// Writes a table, which is not created without rows. Its first column, before those of `schema`,
/// is `cell`: the row in /cells that a row belongs to. Rows are buffered in memory until they fill
/// chunks or finish() is called. `threads` pack columns.
class TableWriter {
 public:
  TableWriter(hid_t file, const Table& schema, int threads);
  /// Appends rows of a table; returns where they will be. Adds columns that the table lacks; fills
  /// columns that `rows` lacks with NaN, 0 or empty texts. Throws H5Error when the types of a
  /// column differ.
  RowRange append(const Table& table, RowRange rows, std::int32_t cell);
  /// Writes the buffered rows, closes the table and describes its columns. Must be the last call.
  std::vector<StoredColumn> finish();
  std::int64_t rows() const { return stored_rows_ + pending_rows_; }

 private:
  struct Stored {
    Column pending;  // described as in the file, with the rows not yet written
    std::optional<H5Dataset> dataset{};
    std::optional<H5Type> type{};
    std::vector<ChunkSum> chunks{};
  };
  Column& find_or_add(const Column& column);
  void create(Stored& column, std::size_t width, std::int64_t rows);
  void append_slice(const Table& rows, RowSlice slice, std::int32_t cell);
  void flush(std::int64_t rows, bool last = false);
  void make_room(Stored& column, std::int64_t rows);
  void replace(Stored& column, std::size_t width);
  void store(Stored& column, std::int64_t first, const std::vector<StoredChunk>& chunks) const;

  hid_t file_;
  std::string name_;
  int threads_;
  std::optional<H5Group> group_;
  std::vector<Stored> columns_;
  std::int64_t stored_rows_ = 0, pending_rows_ = 0, chunk_rows_ = kChunkRows;
};

/// A new archive file: rows cell by cell, then finish(). Without finish(), the file is no archive.
class ArchiveWriter {
 public:
  /// Throws H5Error when the path exists. `threads` pack columns.
  explicit ArchiveWriter(std::string path, int threads = 1);
  /// Appends rows of a table of kCellTables, and sets the cell's range in it.
  void append(CellRecord& cell, std::size_t table, const Table& from, RowRange rows);
  void append(CellRecord& cell, std::size_t table, const Table& rows);
  /// Appends all tables, and sets the cell's ranges and histograms.
  void append(CellRecord& cell, const ShardContents& contents);
  /// Writes the rest, closes the file, and adds its spare copy.
  void finish(const ArchiveIndex& index);

 private:
  std::string path_;
  H5File file_;
  std::vector<TableWriter> tables_;
};

/// An archive without rows. The cells must have none.
void create_archive_file(const std::string& path, const ArchiveIndex& index);

}  // namespace sweep
