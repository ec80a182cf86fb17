#include "sweeps/hdf5/h5_table.hpp"

#include <limits>
#include <memory>
#include <utility>

namespace sweep {

namespace {

// Level 1 compresses these tables within a few percent of level 4, in half the time.
constexpr unsigned kGzipLevel = 1;

H5Type enum_type(const std::vector<std::string>& names) {
  H5Type type(H5Tenum_create(H5T_STD_I8LE), "create an enumeration");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = static_cast<std::int8_t>(i);
    h5_check(H5Tenum_insert(type.get(), names[i].c_str(), &value), "add to an enumeration");
  }
  return type;
}

/// Stored type of one value: little-endian, as in memory. Texts are padded with zero bytes to
/// `width`.
H5Type stored_type(const Column& column, std::size_t width) {
  if (!column.enum_names.empty()) return enum_type(column.enum_names);
  if (std::holds_alternative<std::vector<std::string>>(column.data))
    return text_type(width, H5T_STR_NULLPAD);
  const hid_t numbers[] = {H5T_STD_I8LE, H5T_STD_I32LE, H5T_STD_I64LE, H5T_IEEE_F64LE};
  return {H5Tcopy(numbers[column.data.index()]), "copy a type"};
}

/// No values, of the type that this stored one is read as.
ColumnData data_of(hid_t type, const std::string& name) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  const bool integer = kind == H5T_INTEGER || kind == H5T_ENUM;
  if (kind == H5T_STRING) return std::vector<std::string>();
  if (kind == H5T_FLOAT && size == 8) return std::vector<double>();
  if (integer && size == 1) return std::vector<std::int8_t>();
  if (integer && size == 4) return std::vector<std::int32_t>();
  if (integer && size == 8) return std::vector<std::int64_t>();
  throw H5Error("the column " + name + " has a type that no table has");
}

/// Names of an enumeration's values; empty for other types.
std::vector<std::string> enum_names_of(hid_t type) {
  std::vector<std::string> names;
  if (H5Tget_class(type) != H5T_ENUM) return names;
  const int members = H5Tget_nmembers(type);
  for (int i = 0; i < members; ++i) {
    char* name = H5Tget_member_name(type, static_cast<unsigned>(i));
    names.emplace_back(name);
    H5free_memory(name);
  }
  return names;
}

H5Properties chunked_layout(hsize_t rows) {
  H5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
  h5_check(H5Pset_chunk(layout.get(), 1, &rows), "set the chunk size");
  h5_check(H5Pset_shuffle(layout.get()), "set the shuffle filter");
  h5_check(H5Pset_deflate(layout.get(), kGzipLevel), "set the gzip filter");
  h5_check(H5Pset_fletcher32(layout.get()), "set the checksum filter");
  return layout;
}

/// Whether the dataset has chunks with exactly the filters that this program applies.
bool is_packed(hid_t layout) {
  constexpr H5Z_filter_t kKnown[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32};
  if (H5Pget_layout(layout) != H5D_CHUNKED ||
      H5Pget_nfilters(layout) != static_cast<int>(std::size(kKnown)))
    return false;
  for (unsigned i = 0; i < std::size(kKnown); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    if (H5Pget_filter2(layout, i, &flags, &values, nullptr, 0, nullptr, nullptr) != kKnown[i])
      return false;
  }
  return true;
}

/// The chunk at these coordinates; empty if it was never written.
std::string read_chunk(hid_t dataset, const hsize_t* offset, const std::string& name) {
  const H5File file(H5Iget_file_id(dataset), "find the file of " + name);
  hsize_t size = 0, most = 0;
  h5_check(H5Dget_chunk_storage_size(dataset, offset, &size), "find a chunk of " + name);
  h5_check(H5Fget_filesize(file.get(), &most), "get the size of the file of " + name);
  if (size > most) throw H5Error("a chunk of " + name + " is larger than its file");
  std::string chunk(size, '\0');
  if (size == 0) return chunk;
  std::uint32_t skipped = 0;
  h5_check(H5Dread_chunk(dataset, H5P_DEFAULT, offset, &skipped, chunk.data()),
           "read a chunk of " + name);
  if (skipped != 0) throw H5Error("a chunk of " + name + " skips filters, which none does");
  return chunk;
}

constexpr const char* kRow = "row";

void write_column(hid_t group, const Column& column) {
  const std::size_t width = width_of(column), rows = column.size(),
                    chunk = chunk_rows_of(width, rows);
  H5Dataset dataset = create_column(group, column, width, rows, chunk, rows == 0);
  write_chunks(dataset.get(), 0, chunk, pack_chunks(column, rows, width, chunk), column.name);
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
  const hvl_t value{1, &row};
  write_attribute(column.get(), "DIMENSION_LIST", list.get(), space.get(), &value);
  column.close_checked("close " + name);
}

}  // namespace

H5Dataset create_column(hid_t group, const Column& column, std::size_t width, hsize_t rows,
                        hsize_t chunk, bool grows) {
  const hsize_t most = grows ? H5S_UNLIMITED : rows;
  const H5Type type = stored_type(column, width);
  const H5Space space(H5Screate_simple(1, &rows, &most), "make a space of rows");
  const H5Properties layout = chunked_layout(chunk);
  if (std::holds_alternative<std::vector<double>>(column.data)) {
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    h5_check(H5Pset_fill_value(layout.get(), H5T_NATIVE_DOUBLE, &nothing), "set the fill value");
  }
  H5Dataset dataset(H5Dcreate2(group, column.name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                               layout.get(), H5P_DEFAULT),
                    "create the column " + column.name);
  write_attribute(dataset.get(), "unit", column.unit);
  write_attribute(dataset.get(), "long_name", column.long_name);
  if (column.is_volatile) write_attribute(dataset.get(), "volatile", std::int64_t{1});
  return dataset;
}

void write_chunks(hid_t dataset, hsize_t first, hsize_t chunk_rows,
                  std::span<const std::string> chunks, const std::string& name) {
  for (const std::string& chunk : chunks) {
    h5_check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &first, chunk.size(), chunk.data()),
             "write the column " + name);
    first += chunk_rows;
  }
}

void resize(hid_t dataset, hsize_t rows) {
  h5_check(H5Dset_extent(dataset, &rows), "set the number of rows");
}

StoredColumn stored_column(hid_t table, const std::string& name) {
  const auto dataset = std::make_shared<H5Dataset>(H5Dopen2(table, name.c_str(), H5P_DEFAULT),
                                                   "open the column " + name);
  const H5Type type(H5Dget_type(dataset->get()), "get the type of the column " + name);
  const H5Space space(H5Dget_space(dataset->get()), "get the space of a column");
  const H5Properties layout(H5Dget_create_plist(dataset->get()), "get the layout of " + name);
  hsize_t rows = 0;
  if (!is_packed(layout.get()) || H5Pget_chunk(layout.get(), 1, &rows) != 1)
    throw H5Error("the column " + name + " has other filters than kvsweep's");
  return {
      {name, read_text_attribute(dataset->get(), "unit"),
       read_text_attribute(dataset->get(), "long_name"), has_attribute(dataset->get(), "volatile"),
       enum_names_of(type.get()), data_of(type.get(), name)},
      H5Tget_size(type.get()),
      static_cast<std::size_t>(
          h5_check(H5Sget_simple_extent_npoints(space.get()), "get the size of a column")),
      rows,
      [dataset, rows, name](std::size_t chunk) {
        const hsize_t row = chunk * rows;
        return read_chunk(dataset->get(), &row, name);
      }};
}

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
