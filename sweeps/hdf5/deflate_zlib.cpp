#include <zlib.h>

#include "sweeps/hdf5/codec.hpp"

namespace sweep {

std::string deflated(std::string_view bytes) {
  auto size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 1);
  out.resize(status == Z_OK ? size : 0);
  return out;
}

bool inflate_to(std::span<char> out, std::string_view bytes) {
  auto size = static_cast<uLongf>(out.size());
  const int status =
      uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                 reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()));
  return status == Z_OK && size == out.size();
}

}  // namespace sweep
