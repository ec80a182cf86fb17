#include "sweeps/hdf5/stored_table.hpp"

#include <algorithm>

#include "sweeps/hdf5/chunks.hpp"
#include "sweeps/hdf5/column.hpp"

namespace sweep {
namespace {

constexpr hsize_t kSmallestChunk = 64;
constexpr hsize_t kChunkBytes = hsize_t{1} << 20;  // a chunk is packed and unpacked in memory

/// Rows of a chunk with values of this many bytes.
std::size_t rows_of_chunk(std::size_t bytes) {
  return std::clamp(kChunkBytes / bytes, kSmallestChunk, kChunkRows);
}

void write_column(hid_t group, const Column& column) {
  const std::size_t width = text_width(column), rows = column.size();
  const H5Type type = stored_type(column, width);
  const std::size_t size = H5Tget_size(type.get());
  const std::size_t chunk = std::clamp<std::size_t>(rows, kSmallestChunk, rows_of_chunk(size));
  H5Dataset dataset = create_column(group, column, type.get(), rows, chunk);
  const ChunkShape shape = chunk_shape(dataset.get(), type.get()).value();
  std::vector<char> bytes;
  for (RowSlice slice{0, 0}; slice.first < rows; slice.first += chunk) {
    slice.count = std::min(chunk, rows - slice.first);
    bytes.resize(slice.count * size);
    put_values(column, slice, width, bytes.data());
    write_chunk(dataset.get(), slice.first, pack_chunk(shape, bytes), column.name);
  }
  dataset.close_checked("close the column " + column.name);
}

Column read_column(hid_t group, const std::string& name) {
  const H5Dataset dataset = open_column(group, name);
  const H5Type type(H5Dget_type(dataset.get()), "get the type of the column " + name);
  const hsize_t rows = rows_of(dataset.get());
  Column column = describe_column(dataset.get(), type.get(), name);
  const std::vector<char> bytes = read_bytes(dataset.get(), type.get(), 0, rows, name);
  column.data = take_values(column.data, H5Tget_size(type.get()), bytes.data(), rows);
  return column;
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

Table read_table(hid_t parent, const std::string& name) {
  const H5Group group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), "open the table " + name);
  Table table{name, {}};
  for (const std::string& column : read_texts_attribute(group.get(), "columns")) {
    table.columns.push_back(read_column(group.get(), column));
  }
  static_cast<void>(table.rows());
  return table;
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
