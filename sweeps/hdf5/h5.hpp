#pragma once
// RAII handles for HDF5, files, groups, attributes and texts.
#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "sweeps/tables/table.hpp"

namespace sweep {

/// An HDF5 call failed. what() gives the operation, the object, and HDF5's innermost reason.
struct H5Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns `status`. If it is negative, throws FileError when the system failed HDF5, which says
/// nothing about the contents of the file, else H5Error.
hid_t h5_check(hid_t status, const std::string& tried);

/// Must be called when an identifier could not be closed: HDF5's shutdown at exit is then skipped.
void note_failed_close();

/// Owns one HDF5 identifier. Closing can write the last bytes, so writers call close_checked(). The
/// destructor, which cannot report a failure, serves readers and exceptions.
template <herr_t (*close)(hid_t)>
class H5Id {
 public:
  /// Takes ownership of `id`, the result of an HDF5 call. Throws H5Error when the call failed.
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
  /// Closes the identifier. Throws H5Error on failure: closing a file or a dataset may write its
  /// last bytes.
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

/// Stops HDF5 from printing its error stack. The setting is per thread.
void silence_h5();
/// Properties for opening files. HDF5's file locks are off: a file is written by one process under
/// a temporary name and read only after it is closed, and some file systems refuse locks.
H5Properties h5_access();
/// UTF-8 texts of up to so many bytes, padded or ended by zero bytes.
H5Type text_type(std::size_t bytes, H5T_str_t padding);

/// Creates a file in the format of HDF5 1.10, which has checksums of descriptions and indices of
/// chunks. Throws H5Error when the path exists.
/// Close it with close_checked(), which also fails while an object in the file is open.
H5File create_h5(const std::string& path);
/// Opens an existing file for reading.
H5File open_h5(const std::string& path);

bool has_object(hid_t parent, const std::string& name);
bool has_attribute(hid_t object, const std::string& name);
H5Group create_group(hid_t parent, const std::string& name);
/// Removes a group or a dataset and everything in it; the file does not shrink.
void remove_object(hid_t parent, const std::string& name);

/// Attributes, less than 64 KB each, are in the object's header, which has a checksum. Texts of
/// variable length, as archives of schema 1 have them, are read as well.
void write_attribute(hid_t object, const std::string& name, hid_t type, hid_t space,
                     const void* value);
void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, const std::vector<std::string>& texts);
void write_attribute(hid_t object, const std::string& name, std::int64_t number);
std::vector<std::string> read_texts_attribute(hid_t object, const std::string& name);
std::string read_text_attribute(hid_t object, const std::string& name);
std::int64_t read_integer_attribute(hid_t object, const std::string& name);

/// Writes one text of any length, without zero bytes, as a scalar dataset.
void write_text(hid_t parent, const std::string& name, const std::string& text);
std::string read_text(hid_t parent, const std::string& name);

}  // namespace sweep
