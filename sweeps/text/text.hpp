#pragma once
// Header only, so rooms that do not link the sweep library can include it.
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace sweep {

/// The values as printf(3) writes them, in at most 511 bytes.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// The number, if the text is nothing else.
template <class Number = double>
std::optional<Number> number_from(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && behind == end ? std::optional(number) : std::nullopt;
}

/// The shortest text that reads back as the same number.
inline std::string shortest_text(double number) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// Rounded to three significant digits.
inline double with_three_digits(double value) {
  return number_from(formatted("%.3g", value)).value_or(value);
}

/// The words one after another.
template <class Words>
std::string joined(const Words& words, const char* separator = ", ") {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

}  // namespace sweep
