#pragma once
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "sweeps/hdf5/h5.hpp"

namespace sweep {

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

/// Opens the bytes of a closed file for reading; `name` is for messages.
H5File open_h5_bytes(std::string_view bytes, const std::string& name);

}  // namespace sweep
