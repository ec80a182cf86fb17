#pragma once
// Tables as bytes: "kvsweep tables 1\n" with the version, the deflated description of all columns
// after its size and that of what it inflates to, and the chunks of each column, one after the
// other. Numbers have eight bytes, the lowest first, and texts follow their size. The description
// is of each table its name and number of columns, and of each column
//
//   name, unit, long_name, volatile (0 or 1), number of names of values, and those,
//   type (as type_name() says), bytes of a value, rows, rows of a chunk, bytes of each chunk
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

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
