#include "analysis/text/packed.hpp"

#include <algorithm>
#include <string_view>

#include "analysis/text/deflate.hpp"

namespace analysis {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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

std::string packed_json(std::string json) {
  const auto small = deflated({reinterpret_cast<const std::uint8_t*>(json.data()), json.size()});
  return small ? "{\"deflated\":\"" + base64(*small) + "\"}" : json;
}

}  // namespace analysis
