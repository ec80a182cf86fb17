#include <cstdint>
#include <cstring>

#include "workers/workload/tokenizer/pretokenizer.hpp"

namespace workload {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080U;

/// Length of the character that begins here, 0 when it is invalid. The range of the second byte
/// excludes overlong forms, surrogates and code points above U+10FFFF (Unicode 15, table 3-7).
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead < 0xC2   ? 0
                           : lead < 0xE0 ? 2
                           : lead < 0xF0 ? 3
                           : lead < 0xF5 ? 4
                                         : 0;
  if (size == 0 || text.size() < size) return 0;
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t at = 2; at < size; ++at) {
    if ((byte(at) & 0xC0U) != 0x80) return 0;
  }
  return size;
}

bool eight_ascii(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return (word & kHighBits) == 0;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at >= 8 && eight_ascii(text.data() + at)) {
      at += 8;
      continue;
    }
    const auto size = character(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

}  // namespace workload
