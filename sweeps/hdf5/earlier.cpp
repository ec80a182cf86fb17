#include "sweeps/hdf5/earlier.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sweeps/hdf5/column.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {
namespace {

/// Removes and returns the text up to the next `end`.
std::string take_until(std::string& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  std::string front = text.substr(0, at);
  text.erase(0, at + 1);
  return front;
}

/// A name for a file in memory, which HDF5 requires; no file and no other open file has it.
std::string name_in_memory() {
  static std::atomic<int> count{0};
  return "/dev/null/" + std::to_string(count++);
}

H5File open_h5_bytes(std::string_view bytes, const std::string& name) {
  silence_h5();
  const H5Properties access = h5_access();
  h5_check(H5Pset_fapl_core(access.get(), bytes.size(), 0), "keep a file in memory");
  // HDF5 copies the bytes; the parameter is not const only because of its callbacks.
  h5_check(H5Pset_file_image(access.get(), const_cast<char*>(bytes.data()), bytes.size()),
           "hand over the bytes of " + name);
  return {H5Fopen(name_in_memory().c_str(), H5F_ACC_RDONLY, access.get()), "open " + name};
}

herr_t keep_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// A dataset of rows.
Table read_rows(hid_t parent, const std::string& name) {
  const H5Dataset dataset(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), "open the table " + name);
  const H5Type type(H5Dget_type(dataset.get()), "get the type of the table " + name);
  const std::size_t rows = rows_of(dataset.get()), row_bytes = H5Tget_size(type.get());
  std::vector<char> bytes(rows * row_bytes);
  if (rows > 0)
    h5_check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
             "read the table " + name);
  // One line per column: unit, meaning, and "volatile" or nothing, separated by tabs.
  std::string meanings = has_attribute(dataset.get(), "meanings")
                             ? read_text_attribute(dataset.get(), "meanings")
                             : "";
  const auto columns =
      static_cast<unsigned>(h5_check(H5Tget_nmembers(type.get()), "count the columns of " + name));
  Table table{name, {}};
  for (unsigned i = 0; i < columns; ++i) {
    char* member = H5Tget_member_name(type.get(), i);
    const H5Type own(H5Tget_member_type(type.get(), i), "get the type of a column");
    std::string meaning = take_until(meanings, '\n');
    Column& column = table.columns.emplace_back(description_of(own.get(), member));
    H5free_memory(member);
    column.unit = take_until(meaning, '\t');
    column.long_name = take_until(meaning, '\t');
    column.is_volatile = meaning == "volatile";
    const std::size_t width = H5Tget_size(own.get());
    append_stored(column.data, rows, width, [&](char* out) {
      const char* from = bytes.data() + H5Tget_member_offset(type.get(), i);
      for (std::size_t row = 0; row < rows; ++row, from += row_bytes)
        out = std::copy_n(from, width, out);
    });
  }
  return table;
}

}  // namespace

std::vector<Table> earlier_tables(std::string_view bytes, const std::string& name) {
  const H5File file = open_h5_bytes(bytes, name);
  std::vector<std::string> names;
  h5_check(H5Literate(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, keep_name, &names),
           "list tables");
  std::vector<Table> tables;
  for (const std::string& each : names) tables.push_back(read_rows(file.get(), each));
  return tables;
}

}  // namespace sweep
