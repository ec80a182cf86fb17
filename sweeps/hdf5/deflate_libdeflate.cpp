#include <libdeflate.h>

#include <memory>
#include <new>

#include "sweeps/hdf5/deflate.hpp"

namespace sweep {

namespace {

libdeflate_compressor* compressor() {
  struct Free {
    void operator()(libdeflate_compressor* codec) const { libdeflate_free_compressor(codec); }
  };
  thread_local const std::unique_ptr<libdeflate_compressor, Free> codec(
      libdeflate_alloc_compressor(1));
  if (!codec) throw std::bad_alloc();
  return codec.get();
}

}  // namespace

std::size_t largest_deflated(std::size_t size) {
  return libdeflate_zlib_compress_bound(compressor(), size);
}

std::size_t deflate_to(std::span<unsigned char> out, std::span<const char> bytes) {
  return libdeflate_zlib_compress(compressor(), bytes.data(), bytes.size(), out.data(), out.size());
}

}  // namespace sweep
