#include <algorithm>
#include <cstring>

#include "sweeps/h5.hpp"

namespace sweep {

namespace {

constexpr hsize_t kChunkRows = 16384;
constexpr hsize_t kSmallestChunk = 64;
constexpr unsigned kGzipLevel = 4;

/// How a C++ element type is stored, and how it lies in memory.
template <class T>
struct Native;
template <>
struct Native<std::int8_t> {
  static hid_t stored() { return H5T_STD_I8LE; }
  static hid_t memory() { return H5T_NATIVE_INT8; }
};
template <>
struct Native<std::int32_t> {
  static hid_t stored() { return H5T_STD_I32LE; }
  static hid_t memory() { return H5T_NATIVE_INT32; }
};
template <>
struct Native<std::int64_t> {
  static hid_t stored() { return H5T_STD_I64LE; }
  static hid_t memory() { return H5T_NATIVE_INT64; }
};
template <>
struct Native<double> {
  static hid_t stored() { return H5T_IEEE_F64LE; }
  static hid_t memory() { return H5T_NATIVE_DOUBLE; }
};

H5Type enum_type(const std::vector<std::string>& names) {
  H5Type type(H5Tenum_create(H5T_STD_I8LE), "create an enumeration");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = static_cast<std::int8_t>(i);
    h5_check(H5Tenum_insert(type.get(), names[i].c_str(), &value), "add to an enumeration");
  }
  return type;
}

H5Type fixed_text_type(std::size_t size) {
  H5Type type(H5Tcopy(H5T_C_S1), "copy the string type");
  h5_check(H5Tset_size(type.get(), size), "set the length of a string type");
  h5_check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "set a string type to UTF-8");
  h5_check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "set the padding of a string type");
  return type;
}

/// Column values as HDF5 takes them: a type and contiguous bytes.
struct Packed {
  H5Type type;
  std::vector<char> bytes;
};

template <class T>
Packed pack(const Column& column, const std::vector<T>& values) {
  Packed packed{column.enum_names.empty() ? H5Type(H5Tcopy(Native<T>::memory()), "copy a type")
                                          : enum_type(column.enum_names),
                std::vector<char>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(packed.bytes.data(), values.data(), packed.bytes.size());
  return packed;
}

Packed pack(const Column&, const std::vector<std::string>& values) {
  std::size_t longest = 1;
  for (const std::string& value : values) longest = std::max(longest, value.size());
  Packed packed{fixed_text_type(longest), std::vector<char>(values.size() * longest)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::copy(values[i].begin(), values[i].end(),
              packed.bytes.begin() + static_cast<std::ptrdiff_t>(i * longest));
  }
  return packed;
}

/// Growable, shuffled, compressed, and with a checksum for every chunk.
H5Properties column_layout(hsize_t rows) {
  H5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
  const hsize_t chunk = std::clamp(rows, kSmallestChunk, kChunkRows);
  h5_check(H5Pset_chunk(layout.get(), 1, &chunk), "set the chunk size");
  h5_check(H5Pset_shuffle(layout.get()), "set the shuffle filter");
  h5_check(H5Pset_deflate(layout.get(), kGzipLevel), "set the gzip filter");
  h5_check(H5Pset_fletcher32(layout.get()), "set the checksum filter");
  return layout;
}

void write_column(hid_t group, const Column& column) {
  const Packed packed =
      std::visit([&](const auto& values) { return pack(column, values); }, column.data);
  const hsize_t rows = column.size(), unlimited = H5S_UNLIMITED;
  const H5Space space(H5Screate_simple(1, &rows, &unlimited), "make a space of rows");
  const H5Properties layout = column_layout(rows);
  const H5Dataset dataset(H5Dcreate2(group, column.name.c_str(), packed.type.get(), space.get(),
                                     H5P_DEFAULT, layout.get(), H5P_DEFAULT),
                          "create the column " + column.name);
  if (rows > 0) {
    h5_check(H5Dwrite(dataset.get(), packed.type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      packed.bytes.data()),
             "write the column " + column.name);
  }
  write_attribute(dataset.get(), "unit", column.unit);
  write_attribute(dataset.get(), "long_name", column.long_name);
  if (column.is_volatile) write_attribute(dataset.get(), "volatile", std::int64_t{1});
}

std::vector<std::string> enum_names_of(hid_t type) {
  std::vector<std::string> names;
  const int members = H5Tget_nmembers(type);
  for (int i = 0; i < members; ++i) {
    char* name = H5Tget_member_name(type, static_cast<unsigned>(i));
    names.emplace_back(name);
    H5free_memory(name);
  }
  return names;
}

template <class T>
ColumnData read_values(hid_t dataset, hid_t memory, std::size_t rows, const std::string& name) {
  std::vector<T> values(rows);
  if (rows > 0) {
    h5_check(H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
             "read the column " + name);
  }
  return values;
}

ColumnData read_strings(hid_t dataset, hid_t type, std::size_t rows, const std::string& name) {
  const std::size_t width = H5Tget_size(type);
  std::vector<char> bytes(rows * width);
  if (rows > 0) {
    h5_check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
             "read the column " + name);
  }
  std::vector<std::string> values(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const char* start = bytes.data() + i * width;
    values[i].assign(start, std::find(start, start + width, '\0'));
  }
  return values;
}

ColumnData read_data(hid_t dataset, hid_t type, std::size_t rows, const std::string& name) {
  switch (H5Tget_class(type)) {
    case H5T_ENUM:
      return read_values<std::int8_t>(dataset, type, rows, name);
    case H5T_STRING:
      return read_strings(dataset, type, rows, name);
    case H5T_FLOAT:
      return read_values<double>(dataset, H5T_NATIVE_DOUBLE, rows, name);
    default:
      break;
  }
  switch (H5Tget_size(type)) {
    case 1:
      return read_values<std::int8_t>(dataset, H5T_NATIVE_INT8, rows, name);
    case 4:
      return read_values<std::int32_t>(dataset, H5T_NATIVE_INT32, rows, name);
    case 8:
      return read_values<std::int64_t>(dataset, H5T_NATIVE_INT64, rows, name);
    default:
      throw H5Error("the column " + name + " has a type that no table has");
  }
}

Column read_column(hid_t group, const std::string& name) {
  const H5Dataset dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT), "open the column " + name);
  const H5Type type(H5Dget_type(dataset.get()), "get the type of the column " + name);
  const H5Space space(H5Dget_space(dataset.get()), "get the size of the column " + name);
  const auto rows = static_cast<std::size_t>(
      h5_check(H5Sget_simple_extent_npoints(space.get()), "get the size of the column " + name));
  Column column{name,
                read_text_attribute(dataset.get(), "unit"),
                read_text_attribute(dataset.get(), "long_name"),
                H5Aexists(dataset.get(), "volatile") > 0,
                {},
                {}};
  if (H5Tget_class(type.get()) == H5T_ENUM) column.enum_names = enum_names_of(type.get());
  column.data = read_data(dataset.get(), type.get(), rows, name);
  return column;
}

}  // namespace

void write_table(hid_t parent, const Table& table) {
  static_cast<void>(table.rows());  // columns of equal length, or no table
  const H5Group group(H5Gcreate2(parent, table.name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                      "create the table " + table.name);
  std::vector<std::string> order;
  for (const Column& column : table.columns) {
    write_column(group.get(), column);
    order.push_back(column.name);
  }
  write_attribute(group.get(), "columns", order);
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

}  // namespace sweep
