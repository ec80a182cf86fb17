#include <zlib.h>

#include "sweeps/hdf5/deflate.hpp"

namespace sweep {

std::size_t largest_deflated(std::size_t size) { return compressBound(static_cast<uLong>(size)); }

std::size_t deflate_to(std::span<unsigned char> out, std::span<const char> bytes) {
  auto written = static_cast<uLongf>(out.size());
  const int status = compress2(out.data(), &written, reinterpret_cast<const Bytef*>(bytes.data()),
                               static_cast<uLong>(bytes.size()), 1);
  return status == Z_OK ? written : 0;
}

bool inflate_to(std::span<char> out, std::span<const unsigned char> bytes) {
  auto written = static_cast<uLongf>(out.size());
  const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &written, bytes.data(),
                                static_cast<uLong>(bytes.size()));
  return status == Z_OK && written == out.size();
}

}  // namespace sweep
