#include "workers/workload/tokenizer/bpe_alphabet.hpp"

#include <array>

namespace workload {
namespace {

constexpr unsigned kCodePoints = 256 + 68;

constexpr bool prints(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<unsigned, 256> code_point{};
  std::array<int, kCodePoints> byte{};  // -1: not in the alphabet
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.byte.fill(-1);
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    alphabet.code_point[byte] = prints(byte) ? byte : next++;
    alphabet.byte[alphabet.code_point[byte]] = static_cast<int>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string spelling_of_bytes(std::string_view bytes) {
  std::string spelling;
  for (const char c : bytes) {
    const auto code_point = kAlphabet.code_point[static_cast<unsigned char>(c)];
    if (code_point < 0x80) {
      spelling += static_cast<char>(code_point);
    } else {  // at most U+0143: two bytes of UTF-8
      spelling += static_cast<char>(0xC0U | code_point >> 6U);
      spelling += static_cast<char>(0x80U | (code_point & 0x3FU));
    }
  }
  return spelling;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  for (std::size_t at = 0; at < spelling.size(); ++at) {
    unsigned code_point = static_cast<unsigned char>(spelling[at]);
    if (code_point >= 0x80) {
      if ((code_point & 0xE0U) != 0xC0 || at + 1 == spelling.size()) return std::nullopt;
      code_point =
          (code_point & 0x1FU) << 6U | (static_cast<unsigned char>(spelling[++at]) & 0x3FU);
    }
    if (code_point >= kCodePoints || kAlphabet.byte[code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(kAlphabet.byte[code_point]);
  }
  return bytes;
}

}  // namespace workload
