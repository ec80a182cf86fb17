#include "sweeps/hdf5/memory_file.hpp"

#include <algorithm>

namespace sweep {

// H5Fget_file_image() would be simpler, but HDF5 1.10 clears the flags of an open file in its image
// without updating their checksum, so no program opens it. Instead, the bytes are taken when HDF5
// frees them, after it has closed the file properly.

MemoryH5::MemoryH5() : file_(create()) {}

H5File MemoryH5::create() {
  silence_h5();
  constexpr std::size_t kGrowth = std::size_t{1} << 20;  // HDF5 zeroes what it adds
  const H5Properties access = h5_access();
  H5FD_file_image_callbacks_t calls{};
  calls.image_realloc = grow;
  calls.image_free = keep;
  calls.udata_copy = [](void* self) { return self; };
  calls.udata_free = [](void*) -> herr_t { return 0; };
  calls.udata = this;
  h5_check(H5Pset_fapl_core(access.get(), kGrowth, 0), "keep a file in memory");
  h5_check(H5Pset_file_image_callbacks(access.get(), &calls), "keep the bytes of a file");
  return {H5Fcreate(name_in_memory().c_str(), H5F_ACC_EXCL, h5_creation().get(), access.get()),
          "create a file in memory"};
}

void* MemoryH5::grow(void* bytes, size_t size, H5FD_file_image_op_t, void* self) {
  void* grown = std::realloc(bytes, size);
  if (grown != nullptr) static_cast<MemoryH5*>(self)->capacity_ = size;
  return grown;
}

herr_t MemoryH5::keep(void* bytes, H5FD_file_image_op_t, void* self) {
  static_cast<MemoryH5*>(self)->bytes_.reset(bytes);
  return 0;
}

std::string MemoryH5::close() {
  const std::string tried = "close a file in memory";
  h5_check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), tried);
  // Closing adds no bytes and releases those that were allocated ahead and never written.
  const hid_t size = h5_check(H5Fget_file_image(file_.get(), nullptr, 0), tried);
  file_.close_checked(tried);
  if (!bytes_) throw H5Error("cannot " + tried + ": HDF5 did not give its bytes back");
  return {static_cast<const char*>(bytes_.get()),
          std::min(static_cast<std::size_t>(size), capacity_)};
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

}  // namespace sweep
