#pragma once
// The spare copy behind the HDF5 file of an archive: everything but the chunks of its tables, and
// what finds those. HDF5 refuses what is damaged, and of a column's header that is every row of the
// column; with the spare copy, damage outside chunks costs nothing. A program that changes the
// archive by HDF5 cuts it off.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/archive/file.hpp"
#include "sweeps/archive/writer.hpp"

namespace sweep {

/// Adds the copy to a closed file with these columns. Throws FileError.
void append_spare(const std::string& path, const ArchiveIndex& index,
                  const std::vector<StoredColumn>& columns);

/// Throws H5Error unless the open file has its spare copy, whole. Archives of schema 1 have none.
void check_spare(hid_t file);

/// The cells of a damaged archive, by its spare copy and the chunks in its bytes, wherever they
/// are.
class SpareTables {
 public:
  /// Throws H5Error if a part of the spare copy is lost in both of its places, or there is none.
  explicit SpareTables(std::string archive_bytes);
  SpareTables(const SpareTables&) = delete;
  SpareTables& operator=(const SpareTables&) = delete;
  const ArchiveIndex& index() const { return index_; }
  /// A cell with its rows. Throws H5Error if they are in a chunk that was not found.
  ShardContents load(const CellRecord& cell);
  /// The columns of which it lacks rows: "steps/n_tok, turns/job".
  std::string damage_of(const CellRecord& cell) const;

 private:
  struct Found {
    StoredColumn stored;
    std::size_t table;                     // in kCellTables
    std::vector<std::string_view> chunks;  // of archive_; empty if not found
    std::optional<std::size_t> last;       // chunk that was unpacked
    std::vector<char> shuffled;            // its bytes
  };
  static Column values(Found& column, RowRange range);
  static const char* unpacked(Found& column, std::size_t chunk);

  std::string archive_;
  ArchiveIndex index_;
  std::vector<Found> columns_;
};

}  // namespace sweep
