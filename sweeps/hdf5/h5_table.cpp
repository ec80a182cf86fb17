#include "sweeps/hdf5/h5_table.hpp"

#include <algorithm>
#include <utility>

namespace sweep {
namespace {

constexpr const char* kRow = "row";

void write_column(hid_t group, const Column& column) {
  const std::size_t width = width_of(column), rows = column.size(),
                    chunk = std::clamp<std::size_t>(rows, 1, chunk_rows_of(width));
  H5Dataset dataset = create_column(group, column, width, rows, chunk, rows == 0);
  hsize_t row = 0;
  for (const StoredChunk& packed : pack_chunks(column, rows, width, chunk)) {
    write_chunk(dataset.get(), row, packed, column.name);
    row += chunk;
  }
  dataset.close_checked("close the column " + column.name);
}

void create_row_dimension(hid_t group, hsize_t rows) {
  const hsize_t unlimited = H5S_UNLIMITED, chunk = kChunkRows;
  const H5Space space(H5Screate_simple(1, &rows, &unlimited), "make a space of rows");
  const H5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
  h5_check(H5Pset_chunk(layout.get(), 1, &chunk), "set the chunk size");
  H5Dataset row(
      H5Dcreate2(group, kRow, H5T_IEEE_F32BE, space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
      "create the dimension of a table");
  write_attribute(row.get(), "CLASS", "DIMENSION_SCALE");
  write_attribute(row.get(), "NAME",
                  "This is a netCDF dimension but not a netCDF variable.         0");
  row.close_checked("close the dimension of a table");
}

// The references from the dimension back to its columns (REFERENCE_LIST) are left out. Readers
// start from the column, and the list would have to be updated whenever a column is replaced.
void attach_row_dimension(hid_t group, const std::string& name) {
  H5Dataset column(H5Dopen2(group, name.c_str(), H5P_DEFAULT), "open " + name);
  hobj_ref_t row = 0;
  h5_check(H5Rcreate(&row, group, kRow, H5R_OBJECT, -1), "refer to the dimension of a table");
  const H5Type list(H5Tvlen_create(H5T_STD_REF_OBJ), "make a list type");
  const hsize_t rank = 1;
  const H5Space space(H5Screate_simple(1, &rank, nullptr), "make a space of one dimension");
  H5Attribute attribute(
      H5Acreate2(column.get(), "DIMENSION_LIST", list.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      "create the list of dimensions");
  const hvl_t value{1, &row};
  h5_check(H5Awrite(attribute.get(), list.get(), &value), "write the list of dimensions");
  attribute.close_checked("close the list of dimensions");
  column.close_checked("close " + name);
}

}  // namespace

void finish_table(hid_t group, hsize_t rows, const std::vector<std::string>& columns) {
  write_attribute(group, "columns", columns);
  create_row_dimension(group, rows);
  for (const std::string& column : columns) attach_row_dimension(group, column);
}

void write_table(hid_t parent, const Table& table) {
  const std::size_t rows = table.rows();  // throws unless the columns have equal length
  H5Group group = create_group(parent, table.name);
  std::vector<std::string> order;
  for (const Column& column : table.columns) {
    write_column(group.get(), column);
    order.push_back(column.name);
  }
  finish_table(group.get(), rows, order);
  group.close_checked("close the table " + table.name);
}

StoredTable stored_table(hid_t parent, const std::string& name, int threads) {
  const H5Group group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), "open the table " + name);
  std::vector<StoredColumn> columns;
  for (const std::string& column : read_texts_attribute(group.get(), "columns"))
    columns.push_back(stored_column(group.get(), column));
  return StoredTable(name, std::move(columns), threads);
}

Table read_table(hid_t parent, const std::string& name) {
  return stored_table(parent, name).read();
}

}  // namespace sweep
