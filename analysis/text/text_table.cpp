#include "analysis/text/text_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <string_view>

#include "analysis/text/escape.hpp"

namespace analysis {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

std::string formatted(double value, std::chars_format format, int precision) {
  char buffer[400];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, format, precision);
  return {buffer, end};
}

/// Rounds the exact value; what lies exactly between two numbers is rounded away from zero, as in
/// analysis/web/src/shared/format.ts.
std::string rounded(double value, int decimals) {
  if (!std::isfinite(value)) return formatted(value, std::chars_format::fixed, decimals);
  // Doubles this size differ from such a number within far fewer digits, if they do.
  constexpr int kMore = 24;
  char buffer[400];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value,
                                          std::chars_format::fixed, decimals + kMore);
  const std::string_view rest(end - kMore, kMore);
  const bool is_between = rest.front() == '5' && rest.find_first_not_of('0', 1) == rest.npos;
  return formatted(is_between ? std::nextafter(value, 2 * value) : value, std::chars_format::fixed,
                   decimals);
}

}  // namespace

void TextTable::append(Column& column, const std::string& text) {
  const std::string shown = terminal_text(text);
  column.texts += shown + '\n';
  column.width = std::max(column.width, display_width(shown));
}

void TextTable::add_column(const std::string& name, const std::string& unit, Align align) {
  Column& column = columns_.emplace_back();
  column.align = align;
  append(column, name);
  append(column, unit);
}

void TextTable::add_row(const std::vector<std::string>& texts) {
  if (texts.size() != columns_.size()) throw std::logic_error("a row needs a text per column");
  for (std::size_t i = 0; i < texts.size(); ++i) append(columns_[i], texts[i]);
}

void TextTable::print(std::ostream& out) const {
  std::vector<std::string_view> left;  // of each column
  for (const Column& column : columns_) left.emplace_back(column.texts);
  while (!left.empty() && !left.front().empty()) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      const std::string text(left[i].substr(0, left[i].find('\n')));
      left[i].remove_prefix(text.size() + 1);
      const std::string padding(column.width - display_width(text), ' ');
      if (i > 0) line += "  ";
      line += column.align == Align::right ? padding + text : text + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

std::string two_decimals(double value) { return std::isnan(value) ? "-" : rounded(value, 2); }

std::string four_digits(double value) {
  if (std::isnan(value)) return "-";
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers) return rounded(value, 0);
  const double size = std::abs(value);
  if (size < 1e-4 || size >= 1e9) return formatted(value, std::chars_format::scientific, 3);
  const auto before_point = [](double of) {
    return static_cast<int>(std::floor(std::log10(of))) + 1;
  };
  const int decimals = std::max(0, 4 - before_point(size));
  // 9.9996 becomes 10.00.
  const double shown = std::abs(std::stod(rounded(value, decimals)));
  return rounded(value, std::max(0, 4 - before_point(shown)));
}

}  // namespace analysis
