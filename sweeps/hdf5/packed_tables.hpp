#pragma once
// Tables as bytes: "kvsweep tables\n", the deflated description of all columns after its size and
// that of what it inflates to, and the chunks of each column, one after the other. Numbers have
// eight bytes, the lowest first, and texts follow their size. The description is of each table its
// name and number of columns, and of each column
//
//   name, unit, long_name, volatile (0 or 1), number of names of values, and those,
//   type (as type_name() says), bytes of a value, rows, rows of a chunk, bytes of each chunk
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {

/// Throws TableError when the columns of a table differ in length.
std::string pack_tables(std::span<const Table* const> tables);

/// No values, of the type that type_name() calls so. Throws H5Error.
ColumnData data_of_type(const std::string& type);

/// The tables in such bytes, read one at a time. Also those in the file of HDF5 that programs
/// before schema 2.1 wrote in their place.
class PackedTables {
 public:
  /// Throws H5Error when the bytes hold no tables; `name` is for messages. `threads` unpack.
  PackedTables(std::string bytes, const std::string& name, int threads = 1);
  PackedTables(const PackedTables&) = delete;
  PackedTables& operator=(const PackedTables&) = delete;
  bool has(const std::string& table) const { return tables_.contains(table); }
  /// Throws H5Error when it is missing.
  StoredTable& at(const std::string& table);
  Table read(const std::string& table) { return at(table).read(); }

 private:
  std::string bytes_;
  std::map<std::string, StoredTable, std::less<>> tables_;
};

}  // namespace sweep
