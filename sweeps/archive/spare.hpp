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

struct Spare {
  ArchiveIndex index;
  std::vector<StoredColumn> columns;
};
/// Of the bytes of an archive; empty if both pieces of a part are lost, or there are none.
std::optional<Spare> read_spare(std::string_view archive);

/// Rows of a column that are in no chunk that was found.
struct LostRows {
  std::size_t table;  // in kCellTables
  std::string column;
  RowRange rows;
};
/// Writes the archive again from its spare copy and the chunks in its bytes, wherever they are.
/// Lost rows read as NaN, 0 or an empty text.
std::vector<LostRows> rebuild(const Spare& spare, std::string_view archive,
                              const std::string& target);

}  // namespace sweep
