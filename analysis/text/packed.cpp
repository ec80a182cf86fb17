#include "analysis/text/packed.hpp"

#include <openssl/evp.h>
#include <zlib.h>

#include <stdexcept>

namespace analysis {
namespace {

/// Columns of a trace shrink to a fifth at any level; higher levels only take longer.
constexpr int kLevel = 4;

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::size_t kPiece = 3U << 20;  // whole groups of three; OpenSSL counts in int
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::string_view piece = bytes.substr(at, kPiece);
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + at / 3 * 4),
                    reinterpret_cast<const unsigned char*>(piece.data()),
                    static_cast<int>(piece.size()));
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
