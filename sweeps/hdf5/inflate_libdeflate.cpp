#include <libdeflate.h>

#include <memory>
#include <new>

#include "sweeps/hdf5/deflate.hpp"

namespace sweep {

namespace {

libdeflate_decompressor* decompressor() {
  struct Free {
    void operator()(libdeflate_decompressor* codec) const { libdeflate_free_decompressor(codec); }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> codec(
      libdeflate_alloc_decompressor());
  if (!codec) throw std::bad_alloc();
  return codec.get();
}

}  // namespace

bool inflate_to(std::span<char> out, std::span<const unsigned char> bytes) {
  return libdeflate_zlib_decompress(decompressor(), bytes.data(), bytes.size(), out.data(),
                                    out.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace sweep
