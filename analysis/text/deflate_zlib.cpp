#include <zlib.h>

#include <stdexcept>
#include <string>

#include "analysis/text/deflate.hpp"

namespace analysis {

/// Columns of a trace shrink to a fifth at any level; higher levels only take longer.
constexpr int kLevel = 4;

std::optional<std::vector<std::uint8_t>> deflated(std::span<const std::uint8_t> bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<std::uint8_t> made(size);
  const int status =
      compress2(made.data(), &size, bytes.data(), static_cast<uLong>(bytes.size()), kLevel);
  if (status != Z_OK) throw std::runtime_error("zlib: compress2 failed: " + std::to_string(status));
  made.resize(size);
  return made;
}

}  // namespace analysis
