#include "sweeps/hdf5/column.hpp"

namespace sweep {

namespace {

constexpr const char* kRow = "row";

}  // namespace

void create_row_dimension(hid_t group, hsize_t rows, const std::vector<std::string>& columns) {
  {
    const hsize_t unlimited = H5S_UNLIMITED, chunk = kChunkRows;
    const H5Space space(H5Screate_simple(1, &rows, &unlimited), "make a space of rows");
    const H5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
    h5_check(H5Pset_chunk(layout.get(), 1, &chunk), "set the chunk size");
    H5Dataset row(H5Dcreate2(group, kRow, H5T_IEEE_F32BE, space.get(), H5P_DEFAULT, layout.get(),
                             H5P_DEFAULT),
                  "create the dimension of a table");
    write_fixed_attribute(row.get(), "CLASS", "DIMENSION_SCALE");
    write_fixed_attribute(row.get(), "NAME",
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
