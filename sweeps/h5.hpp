#pragma once
// Private to this folder: HDF5 handles that close themselves, and tables as groups of columns.
#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "sweeps/table.hpp"

namespace sweep {

/// HDF5 refused. what() says what was tried, on which object, and the innermost reason that HDF5
/// gives.
struct H5Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws H5Error unless `status` is at least 0; returns it.
hid_t h5_check(hid_t status, const std::string& tried);

/// To be called when an identifier could not be closed: HDF5 cannot be shut down in order then.
void note_failed_close();

/// Owns one HDF5 identifier.
template <herr_t (*close)(hid_t)>
class H5Id {
 public:
  /// Takes over `id`, the result of an HDF5 call. Throws H5Error when the call failed.
  H5Id(hid_t id, const std::string& tried) : id_(h5_check(id, tried)) {}
  H5Id(H5Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  H5Id& operator=(H5Id&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~H5Id() {
    if (id_ >= 0 && close(id_) < 0) note_failed_close();
  }
  hid_t get() const { return id_; }
  /// Closes now. Throws H5Error when that fails: for a file this is the write of its last bytes.
  void close_checked(const std::string& tried) {
    const herr_t status = close(std::exchange(id_, H5I_INVALID_HID));
    if (status < 0) note_failed_close();
    h5_check(status, tried);
  }

 private:
  hid_t id_;
};

using H5File = H5Id<H5Fclose>;
using H5Group = H5Id<H5Gclose>;
using H5Dataset = H5Id<H5Dclose>;
using H5Space = H5Id<H5Sclose>;
using H5Type = H5Id<H5Tclose>;
using H5Attribute = H5Id<H5Aclose>;
using H5Properties = H5Id<H5Pclose>;

/// A new file in the format that HDF5 1.8 to 1.14 read. An existing file is replaced.
H5File create_h5(const std::string& path);
/// An existing file, for reading.
H5File open_h5(const std::string& path);
/// The bytes of a closed file, for reading; `name` is for messages.
H5File open_h5_bytes(std::string_view bytes, const std::string& name);
/// An existing file, for reading and writing.
H5File open_h5_for_writing(const std::string& path);

bool has_object(hid_t parent, const std::string& name);
/// Removes a group or a dataset and everything in it; the file does not shrink.
void remove_object(hid_t parent, const std::string& name);

void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, const std::vector<std::string>& texts);
void write_attribute(hid_t object, const std::string& name, std::int64_t number);
std::vector<std::string> read_texts_attribute(hid_t object, const std::string& name);
std::string read_text_attribute(hid_t object, const std::string& name);
std::int64_t read_integer_attribute(hid_t object, const std::string& name);

/// A text inside the object's checked header, where write_attribute leaves it to a heap without a
/// checksum. Below 64 KB.
void write_fixed_attribute(hid_t object, const std::string& name, const std::string& text);
std::string read_fixed_attribute(hid_t object, const std::string& name);

/// One text of any length, without zero bytes, as a scalar dataset.
void write_text(hid_t parent, const std::string& name, const std::string& text);
std::string read_text(hid_t parent, const std::string& name);

/// Writes a table as the group `table.name` of 1-D datasets, one a column, compressed and
/// check-summed, with the attributes unit, long_name and, where it holds, volatile. The group's
/// attribute `columns` keeps their order.
void write_table(hid_t parent, const Table& table);
/// Reads it back. Throws H5Error when it is missing or damaged.
Table read_table(hid_t parent, const std::string& name);

/// One column of such a table, read and checked alone.
Column read_table_column(hid_t parent, const std::string& table, const std::string& column);

/// Writes a table as one dataset of rows: fewer objects, for files of a single cell.
void write_packed_table(hid_t parent, const Table& table);
Table read_packed_table(hid_t parent, const std::string& name);

}  // namespace sweep
