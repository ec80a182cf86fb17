#include "sweeps/definition/secrets.hpp"

#include <regex>

namespace sweep {

bool is_secret_name(std::string_view name) {
  static const std::regex kParts(
      "key|token(?!s|iz)|secret|passw|passphrase|credential|authorization",
      std::regex::ECMAScript | std::regex::icase);
  return std::regex_search(name.begin(), name.end(), kParts);
}

bool is_hidden(std::string_view key, std::string_view value) {
  if (holds_login(value)) return true;
  if (key.find("server.") == key.npos) return false;
  return key.find(".header.") != key.npos || is_secret_name(key) ||
         (key.ends_with("url") && value.find_first_of("@?#") != value.npos);
}

bool holds_login(std::string_view text) {
  constexpr std::string_view kBegin = "://";
  for (std::size_t at = 0; (at = text.find(kBegin, at)) != text.npos;) {
    at += kBegin.size();
    const std::size_t end = text.find_first_of("/@ \t\r\n", at);
    if (end != text.npos && end > at && text[end] == '@') return true;
  }
  return false;
}

}  // namespace sweep
