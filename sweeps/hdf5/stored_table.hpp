#pragma once
// Tables as they are stored, in a file of HDF5 or in bytes of our own: columns of chunks, each
// shuffled, deflated and with a checksum.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/hdf5/codec.hpp"
#include "sweeps/tables/table.hpp"

namespace sweep {

/// A column, and where its chunks are found.
struct StoredColumn {
  Column column;          // without rows
  std::size_t width = 1;  // bytes of a value
  std::size_t rows = 0, chunk_rows = 1;
  /// A chunk by its number. Empty: it was never written, and its rows are NaN, 0 or empty texts.
  std::function<std::string(std::size_t chunk)> fetch;
};

/// Length of the longest text in bytes, at least 1; of numbers, their size.
std::size_t width_of(const Column& column);

/// Rows per chunk of a growing table.
inline constexpr std::size_t kChunkRows = 16384;

/// Rows of a chunk of so many with values of this width: at most kChunkRows, and 1 MiB, as it is
/// packed in memory.
std::size_t chunk_rows_of(std::size_t width, std::size_t rows = std::size_t(-1));

/// The first `rows` rows of a column, in chunks of `chunk_rows` values of `width` bytes. Calls
/// nothing of HDF5, so several threads can pack.
std::vector<std::string> pack_chunks(const Column& column, std::size_t rows, std::size_t width,
                                     std::size_t chunk_rows);

/// A table of which the chunks are read when their rows are. Ranges of rows in ascending order cost
/// one pass over the chunks, which `threads` unpack.
class StoredTable {
 public:
  /// Throws H5Error when the columns differ in length. Without columns it has no rows.
  explicit StoredTable(std::string name, std::vector<StoredColumn> columns = {}, int threads = 1);
  std::size_t rows() const { return columns_.empty() ? 0 : columns_.front().stored.rows; }
  /// Rows of all columns but one. Throws H5Error when they are damaged.
  Table read(RowRange range, std::string_view but = {});
  Table read() { return read({0, rows()}); }
  /// Rows of one column.
  Column read_column(std::string_view name, RowRange range);
  /// Compares every chunk with its checksum. Throws H5Error, which names the first column with one
  /// that differs or cannot be read.
  void check() const;
  /// Names of the columns of which these rows are damaged.
  std::vector<std::string> damaged(RowRange range);

 private:
  struct Source {
    StoredColumn stored;
    std::optional<std::size_t> chunk{};  // that was unpacked last
    std::string shuffled{};              // its bytes; empty if it was never written
  };
  std::vector<std::string> fetch(const Source& source, RowRange range) const;
  Column values(Source& source, const std::vector<std::string>& chunks, RowRange range) const;

  std::string name_;
  int threads_;
  std::vector<Source> columns_;
};

}  // namespace sweep
