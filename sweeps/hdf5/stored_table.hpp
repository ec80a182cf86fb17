#pragma once
// Tables as groups of 1-D datasets, one a column.
#include <optional>
#include <string>
#include <vector>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Writes a table as the group `table.name` of 1-D datasets, one per column, compressed, with
/// checksums and the attributes unit, long_name and, if it applies, volatile. The group's attribute
/// `columns` keeps their order.
void write_table(hid_t parent, const Table& table);

/// A table in a file, which must stay open. Ranges of rows in ascending order cost one pass over
/// the file, whose chunks `threads` unpack.
class StoredTable {
 public:
  /// Throws H5Error when it is missing, or its columns differ in length.
  StoredTable(hid_t parent, std::string name, int threads = 1);
  /// One without columns, which is in no file.
  explicit StoredTable(std::string name) : name_(std::move(name)) {}
  hsize_t rows() const { return columns_.empty() ? 0 : columns_.front().rows; }
  /// Rows [first, first + count) of all columns but one. Throws H5Error when they are damaged.
  Table read(hsize_t first, hsize_t count, std::string_view but = {});
  /// The same of one column; no values if the table has no columns.
  Column read_column(const std::string& name, hsize_t first, hsize_t count);

 private:
  struct Stored {
    std::string name;
    H5Dataset dataset;
    H5Type type;
    hsize_t rows;
    std::optional<Column> described = std::nullopt;  // once it is read
    hsize_t window_start = 0;                        // first row of
    std::vector<char> window{};                      // packed rows read ahead
  };
  Column values(Stored& column, hsize_t first, hsize_t count) const;

  std::string name_;
  int threads_ = 1;
  std::vector<Stored> columns_;
};

/// Reads a whole table. Throws H5Error when it is missing or damaged.
Table read_table(hid_t parent, const std::string& name);

}  // namespace sweep
