#include "analysis/text/packed.hpp"

#include <zlib.h>

#include <cstdint>
#include <stdexcept>

namespace analysis {
namespace {

/// Columns of a trace shrink to a fifth at any level; higher levels only take longer.
constexpr int kLevel = 4;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view here = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < here.size() ? static_cast<unsigned char>(here[k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= here.size() ? kDigits[bits >> (18 - 6 * k) & 63u] : '=';
  }
  return text;
}

std::string packed(std::string_view text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string made(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(made.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()),
                               static_cast<uLong>(text.size()), kLevel);
  if (status != Z_OK) throw std::runtime_error("zlib: compress2 failed: " + std::to_string(status));
  return base64(std::string_view(made).substr(0, size));
}

}  // namespace analysis
