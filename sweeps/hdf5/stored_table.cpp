#include "sweeps/hdf5/stored_table.hpp"

#include <algorithm>

#include "sweeps/hdf5/chunks.hpp"
#include "sweeps/hdf5/column.hpp"

namespace sweep {
namespace {

constexpr hsize_t kSmallestChunk = 64;
constexpr hsize_t kChunkBytes = hsize_t{1} << 20;  // a chunk is packed and unpacked in memory
constexpr hsize_t kWindowRows = 2 * kChunkRows;

/// Rows of a chunk with values of this many bytes.
std::size_t rows_of_chunk(std::size_t bytes) {
  return std::clamp(kChunkBytes / bytes, kSmallestChunk, kChunkRows);
}

void write_column(hid_t group, const Column& column) {
  const std::size_t width = text_width(column), rows = column.size();
  const H5Type type = stored_type(column, width);
  const std::size_t size = H5Tget_size(type.get());
  const std::size_t chunk = std::clamp<std::size_t>(rows, 1, rows_of_chunk(size));
  H5Dataset dataset = create_column(group, column, type.get(), rows, chunk, rows == 0);
  const ChunkShape shape = chunk_shape(dataset.get(), type.get());
  std::vector<char> packed;
  for (RowSlice slice{0, 0}; slice.first < rows; slice.first += chunk) {
    slice.count = std::min(chunk, rows - slice.first);
    write_chunk(dataset.get(), slice.first,
                pack_chunk(shape, stored_values(column, slice, width, packed)), column.name);
  }
  dataset.close_checked("close the column " + column.name);
}

constexpr const char* kRow = "row";

}  // namespace

void write_table(hid_t parent, const Table& table) {
  const std::size_t rows = table.rows();  // throws unless the columns have equal length
  H5Group group = create_group(parent, table.name);
  std::vector<std::string> order;
  for (const Column& column : table.columns) {
    write_column(group.get(), column);
    order.push_back(column.name);
  }
  write_attribute(group.get(), "columns", order);
  create_row_dimension(group.get(), rows, order);
  group.close_checked("close the table " + table.name);
}

StoredTable::StoredTable(hid_t parent, std::string name, int threads)
    : name_(std::move(name)), threads_(threads) {
  const H5Group group(H5Gopen2(parent, name_.c_str(), H5P_DEFAULT), "open the table " + name_);
  for (const std::string& column : read_texts_attribute(group.get(), "columns")) {
    H5Dataset dataset = open_column(group.get(), column);
    H5Type type(H5Dget_type(dataset.get()), "get the type of the column " + column);
    const hsize_t rows = rows_of(dataset.get());
    columns_.push_back({column, std::move(dataset), std::move(type), rows});
    if (rows != columns_.front().rows)
      throw H5Error("the columns of the table " + name_ + " differ in length");
  }
}

Table StoredTable::read(hsize_t first, hsize_t count, std::string_view but) {
  Table table{name_, {}};
  for (Stored& column : columns_)
    if (column.name != but) table.columns.push_back(values(column, first, count));
  return table;
}

Column StoredTable::read_column(const std::string& name, hsize_t first, hsize_t count) {
  const auto found = std::ranges::find(columns_, name, &Stored::name);
  if (found == columns_.end()) throw H5Error("the table " + name_ + " has no column " + name);
  return values(*found, first, count);
}

/// Rows that are read ahead cost nothing where they cannot be read.
Column StoredTable::values(Stored& column, hsize_t first, hsize_t count) const {
  const std::string name = name_ + "/" + column.name;
  if (first > column.rows || count > column.rows - first)
    throw H5Error("the column " + name + " is shorter than its cells say");
  if (!column.described)
    column.described = describe_column(column.dataset.get(), column.type.get(), column.name);
  Column result = *column.described;
  const std::size_t size = H5Tget_size(column.type.get());
  const auto read = [&](hsize_t from, hsize_t rows, char* out) {
    read_rows(column.dataset.get(), column.type.get(), from, rows, out, name, threads_);
  };
  const auto fill = [&](char* out) {
    if (count > kWindowRows) return read(first, count, out);  // as few cells have; not kept
    const hsize_t window_end = column.window_start + column.window.size() / size;
    if (first < column.window_start || first + count > window_end) {
      column.window_start = first - first % kChunkRows;
      const hsize_t ahead =
          std::min(first - column.window_start + kWindowRows, column.rows - column.window_start);
      try {
        column.window.resize(ahead * size);
        read(column.window_start, ahead, column.window.data());
      } catch (const H5Error&) {
        column.window.clear();
        return read(first, count, out);
      }
    }
    std::copy_n(column.window.data() + (first - column.window_start) * size, count * size, out);
  };
  result.data = values_from(result.data, size, count, fill);
  return result;
}

Table read_table(hid_t parent, const std::string& name) {
  StoredTable table(parent, name);
  return table.read(0, table.rows());
}

void create_row_dimension(hid_t group, hsize_t rows, const std::vector<std::string>& columns) {
  {
    const hsize_t unlimited = H5S_UNLIMITED, chunk = kChunkRows;
    const H5Space space(H5Screate_simple(1, &rows, &unlimited), "make a space of rows");
    const H5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
    h5_check(H5Pset_chunk(layout.get(), 1, &chunk), "set the chunk size");
    H5Dataset row(H5Dcreate2(group, kRow, H5T_IEEE_F32BE, space.get(), H5P_DEFAULT, layout.get(),
                             H5P_DEFAULT),
                  "create the dimension of a table");
    write_attribute(row.get(), "CLASS", "DIMENSION_SCALE");
    write_attribute(row.get(), "NAME",
                    "This is a netCDF dimension but not a netCDF variable.         0");
    row.close_checked("close the dimension of a table");
  }
  for (const std::string& column : columns) {
    H5Dataset dataset(H5Dopen2(group, column.c_str(), H5P_DEFAULT), "open " + column);
    attach_row_dimension(group, dataset.get());
    dataset.close_checked("close " + column);
  }
}

// The references from the dimension back to its columns (REFERENCE_LIST) are left out. Readers
// start from the column, and the list would have to be updated whenever a column is replaced.
void attach_row_dimension(hid_t group, hid_t column) {
  hobj_ref_t row = 0;
  h5_check(H5Rcreate(&row, group, kRow, H5R_OBJECT, -1), "refer to the dimension of a table");
  const H5Type list(H5Tvlen_create(H5T_STD_REF_OBJ), "make a list type");
  const hsize_t rank = 1;
  const H5Space space(H5Screate_simple(1, &rank, nullptr), "make a space of one dimension");
  H5Attribute attribute(
      H5Acreate2(column, "DIMENSION_LIST", list.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      "create the list of dimensions");
  const hvl_t value{1, &row};
  h5_check(H5Awrite(attribute.get(), list.get(), &value), "write the list of dimensions");
  attribute.close_checked("close the list of dimensions");
}

}  // namespace sweep
