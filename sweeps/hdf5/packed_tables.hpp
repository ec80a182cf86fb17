#pragma once
// Tables as bytes. Numbers have eight bytes, the lowest first, and texts follow their size. For
// example, the table "t" with the column "n" of a single int8, 7, deflated by zlib:
//
//   6b 76 73 77 65 65 70 20 74 61 62 6c 65 73 20 31 0a   kTablesMark, kTablesVersion
//   23 00 00 00 00 00 00 00                              bytes of the deflated description,
//   66 00 00 00 00 00 00 00                              and of what it inflates to
//   78 01 63 64 80 80 12 46 28 03 46 e7 41 f9 38 29 16   the description, below
//   a8 4c 66 5e 89 05 4c 13 3a cd 0b 55 03 00 82 fa 02 7d
//   78 01 63 07 00 00 08 00 08 | 08 eb 24 fc             its only chunk, and its checksum
//
// Chunks follow each other as their columns do. The description is of each table its name and its
// number of columns, and of each column
//
//   name, unit, long_name, volatile (0 or 1), number of names of values, and those,
//   type (as type_name() says), bytes of a value, rows, rows of a chunk, bytes of each chunk
//
// here "t" 1 "n" "" "" 0 0 "int8" 1 1 1 13.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

/// The version increases when they are stored otherwise.
inline constexpr std::string_view kTablesMark = "kvsweep tables ", kTablesVersion = "1\n";

/// The tables have a version that only other programs read.
struct OtherVersion : H5Error {
  using H5Error::H5Error;
};

/// Throws TableError when the columns of a table differ in length.
std::string pack_tables(std::span<const Table* const> tables);

/// The tables in such bytes, read one at a time.
class PackedTables {
 public:
  /// Throws H5Error when the bytes hold no tables, OtherVersion when they have another version.
  /// `threads` unpack.
  explicit PackedTables(std::string bytes, int threads = 1);
  /// Empty if it is missing. A table may outlive this object.
  std::optional<StoredTable> find(const std::string& table) const;
  /// Throws H5Error when it is missing.
  Table read(const std::string& table) const;

 private:
  std::map<std::string, StoredTable, std::less<>> tables_;
};

}  // namespace sweep
