#pragma once
// RAII handles for HDF5, and tables stored as groups of columns.
#include <hdf5.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "sweeps/tables/table.hpp"

namespace sweep {

class Crew;

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
using H5Object = H5Id<H5Oclose>;

/// Stops HDF5 from printing its error stack. The setting is per thread.
void silence_h5();
/// Properties for opening files. HDF5's file locks are off: a file is written by one process under
/// a temporary name and read only after it is closed, and some file systems refuse locks.
H5Properties h5_access();
/// Properties for creating files.
H5Properties h5_creation();
/// A name for a file in memory, which HDF5 requires; no file and no other open file has it.
std::string name_in_memory();

/// A new file in memory, in the format of create_h5().
class MemoryH5 {
 public:
  MemoryH5();
  MemoryH5(const MemoryH5&) = delete;
  MemoryH5& operator=(const MemoryH5&) = delete;
  hid_t get() const { return file_.get(); }
  /// Closes the file and returns its bytes.
  std::string close();

 private:
  struct Free {
    void operator()(void* bytes) const { std::free(bytes); }
  };
  static void* grow(void* bytes, size_t size, H5FD_file_image_op_t, void* self);
  static herr_t keep(void* bytes, H5FD_file_image_op_t, void* self);
  H5File create();

  std::unique_ptr<void, Free> bytes_ = nullptr;  // set when HDF5 has closed the file
  std::size_t capacity_ = 0;                     // bytes of the buffer, with room to grow
  H5File file_;
};

/// Creates a file in the format of HDF5 1.10, whose descriptions and indices of chunks have
/// checksums. Throws H5Error when the path exists.
/// Close it with close_checked(), which also fails while an object in the file is open.
H5File create_h5(const std::string& path);
/// Opens an existing file for reading.
H5File open_h5(const std::string& path);
/// Opens the bytes of a closed file for reading; `name` is for messages.
H5File open_h5_bytes(std::string_view bytes, const std::string& name);
/// Opens an existing file for reading and writing. Close it with close_checked() as well.
H5File open_h5_for_writing(const std::string& path);

bool has_object(hid_t parent, const std::string& name);
bool has_attribute(hid_t object, const std::string& name);
H5Group create_group(hid_t parent, const std::string& name);
/// Removes a group or a dataset and everything in it; the file does not shrink.
void remove_object(hid_t parent, const std::string& name);

/// Texts of attributes, less than 64 KB of them, are in the object's header, which has a checksum.
/// Texts of variable length, as archives of schema 1 have them, are read as well.
void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, const std::vector<std::string>& texts);
void write_attribute(hid_t object, const std::string& name, std::int64_t number);
std::vector<std::string> read_texts_attribute(hid_t object, const std::string& name);
std::string read_text_attribute(hid_t object, const std::string& name);
std::int64_t read_integer_attribute(hid_t object, const std::string& name);

/// Writes one text of any length, without zero bytes, as a scalar dataset.
void write_text(hid_t parent, const std::string& name, const std::string& text);
std::string read_text(hid_t parent, const std::string& name);

/// Writes a table as the group `table.name` of 1-D datasets, one per column, compressed, with
/// checksums and the attributes unit, long_name and, if it applies, volatile. The group's attribute
/// `columns` keeps their order.
void write_table(hid_t parent, const Table& table);
/// Reads a table back. Throws H5Error when it is missing or damaged.
Table read_table(hid_t parent, const std::string& name);

/// Reads and checks a single column of such a table.
Column read_table_column(hid_t parent, const std::string& table, const std::string& column);

/// Writes a table as one dataset of rows, in chunks of at most `chunk_rows`. It has fewer objects
/// than a table of columns.
void write_packed_table(hid_t parent, const Table& table, std::size_t chunk_rows = 4096);
/// Reads it back; the crew unpacks.
Table read_packed_table(hid_t parent, const std::string& name, Crew* crew = nullptr);
/// Whether the packed table has these rows, volatile columns aside; reads a chunk at a time.
bool packed_table_holds(hid_t parent, const Table& expected);

}  // namespace sweep
