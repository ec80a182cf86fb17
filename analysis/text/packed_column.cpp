#include "analysis/text/packed_column.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "analysis/text/deflate.hpp"

namespace analysis {
namespace {

static_assert(std::endian::native == std::endian::little, "pages read little-endian numbers");

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string object(std::string_view name, std::span<const std::uint8_t> bytes) {
  return R"({"type":"f64",")" + std::string(name) + R"(":")" + base64(bytes) + "\"}";
}

}  // namespace

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < here ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= here ? kDigits[bits >> (18 - 6 * k) & 63u] : '=';
  }
  return text;
}

std::string packed_small(std::span<const double> values) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes());
  const auto small = deflated(bytes);
  return small && small->size() < bytes.size() ? object("deflated", *small) : object("data", bytes);
}

}  // namespace analysis
