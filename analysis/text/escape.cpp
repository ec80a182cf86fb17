#include "analysis/text/escape.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iomanip>

#include "sweeps/text/text.hpp"

namespace analysis {
namespace {

int flag() {
  static const int index = std::ios_base::xalloc();
  return index;
}

/// ECMA-48: green, red and yellow foreground.
constexpr const char* kStart[] = {"\033[32m", "\033[31m", "\033[33m"};

/// The character at the front of a text.
struct Character {
  std::uint32_t code;
  std::size_t length;  // in bytes; 0: the first byte does not begin a UTF-8 character
};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t length_from_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

/// Refuses what RFC 3629 refuses: overlong forms, surrogates, codes above U+10FFFF.
bool is_allowed(std::uint32_t code, std::size_t length) {
  if (length == 3) return code >= 0x800 && (code < 0xD800 || code > 0xDFFF);
  if (length == 4) return code >= 0x10000 && code <= 0x10FFFF;
  return true;
}

Character front(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = length_from_lead(lead);
  if (length == 1) return {lead, 1};
  if (length == 0 || length > text.size()) return {lead, 0};
  std::uint32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return {lead, 0};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  if (!is_allowed(code, length)) return {lead, 0};
  return {code, length};
}

/// "\n", "\x1b", "\u202e"
std::string escape_of(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  return sweep::formatted(code < 0x100 ? "\\x%02x" : "\\u%04x", code);
}

/// Whether a terminal acts on the character instead of showing it.
bool steers_terminal(std::uint32_t code) {
  constexpr std::array<std::array<std::uint32_t, 2>, 5> kRanges = {
      {{0x00, 0x1F}, {0x7F, 0x9F}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}}};
  return std::ranges::any_of(
      kRanges, [&](const auto& range) { return code >= range[0] && code <= range[1]; });
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Colored& word) {
  if (out.iword(flag()) == 0) return out << word.text;
  const auto width = static_cast<int>(out.width(0));
  return out << kStart[static_cast<int>(word.color)] << std::setw(width) << word.text << "\033[0m";
}

void allow_colors(std::ostream& out) { out.iword(flag()) = 1; }

std::string terminal_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = front(text);
    const std::size_t used = character.length == 0 ? 1 : character.length;
    const bool is_shown = character.length > 0 && !steers_terminal(character.code);
    out += is_shown ? std::string(text.substr(0, used)) : escape_of(character.code);
    text.remove_prefix(used);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += is_continuation(c) ? 0 : 1;
  return width;
}

std::string shell_word(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+=,:@-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  if (terminal_text(word) != word) {
    std::string escaped;
    for (const char c : word)
      escaped += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return "$'" + terminal_text(escaped) + '\'';
  }
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

}  // namespace analysis
