#include <zlib.h>

#include "sweeps/hdf5/deflate.hpp"

namespace sweep {

bool inflate_to(std::span<char> out, std::span<const unsigned char> bytes) {
  auto written = static_cast<uLongf>(out.size());
  const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &written, bytes.data(),
                                static_cast<uLong>(bytes.size()));
  return status == Z_OK && written == out.size();
}

}  // namespace sweep
