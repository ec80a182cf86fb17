#pragma once
// Private to this folder: HDF5 handles that close themselves, and tables as groups of columns.
#include <hdf5.h>

#include <cstdlib>
#include <memory>
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

/// Owns one HDF5 identifier. Closing one that was written through may write its last bytes, so a
/// writer calls close_checked(); the destructor only cleans up behind a reader or an exception.
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
  /// Closes now. Throws H5Error when that fails: of a file and of a dataset this may be the write
  /// of the last bytes.
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

/// HDF5 prints its error stack unless told otherwise, once for each thread.
void silence_h5();
/// How files are opened. They are written by one process under a name of their own and read once
/// they are closed, so HDF5's locks protect nothing, and some file systems refuse them.
H5Properties h5_access();
/// How files are created.
H5Properties h5_creation();
/// HDF5 wants a name for a file in memory, too: one that no file has, and no other that is open.
std::string name_in_memory();

/// A new file of the format of create_h5() that is in memory alone.
class MemoryH5 {
 public:
  MemoryH5();
  MemoryH5(const MemoryH5&) = delete;
  MemoryH5& operator=(const MemoryH5&) = delete;
  hid_t get() const { return file_.get(); }
  /// Closes it and gives its bytes away.
  std::string close();

 private:
  struct Free {
    void operator()(void* bytes) const { std::free(bytes); }
  };
  static void* grow(void* bytes, size_t size, H5FD_file_image_op_t, void* self);
  static herr_t keep(void* bytes, H5FD_file_image_op_t, void* self);
  H5File create();

  std::unique_ptr<void, Free> bytes_ = nullptr;  // once HDF5 has closed the file
  std::size_t capacity_ = 0;                     // of the buffer, with room to grow
  H5File file_;
};

/// A new file in the format that HDF5 1.8 to 1.14 read. Throws H5Error when the path exists. To be
/// closed with close_checked(), which also fails while an object in the file is open.
H5File create_h5(const std::string& path);
/// An existing file, for reading.
H5File open_h5(const std::string& path);
/// The bytes of a closed file, for reading; `name` is for messages.
H5File open_h5_bytes(std::string_view bytes, const std::string& name);
/// An existing file, for reading and writing; to be closed as one of create_h5().
H5File open_h5_for_writing(const std::string& path);

bool has_object(hid_t parent, const std::string& name);
H5Group create_group(hid_t parent, const std::string& name);
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

/// Writes a table as one dataset of rows, in chunks of at most so many: fewer objects than a table
/// of columns, and nothing of it in a heap without checksums.
void write_packed_table(hid_t parent, const Table& table, std::size_t chunk_rows = 4096);
Table read_packed_table(hid_t parent, const std::string& name);

}  // namespace sweep
