#include "analysis/text/text_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "analysis/text/escape.hpp"

namespace analysis {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

std::string formatted(double value, std::chars_format format, int precision) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, format, precision);
  return {buffer, end};
}

}  // namespace

void TextTable::append(Column& column, const std::string& text) {
  column.texts.push_back(terminal_text(text));
  column.width = std::max(column.width, display_width(column.texts.back()));
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
  const std::size_t lines = columns_.empty() ? 0 : columns_[0].texts.size();
  for (std::size_t i = 0; i < lines; ++i) {
    std::string line;
    for (const Column& column : columns_) {
      const std::string& text = column.texts[i];
      const std::string padding(column.width - display_width(text), ' ');
      if (!line.empty() || &column != columns_.data()) line += "  ";
      line += column.align == Align::right ? padding + text : text + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

std::string two_decimals(double value) {
  return std::isnan(value) ? "-" : formatted(value, std::chars_format::fixed, 2);
}

std::string four_digits(double value) {
  if (std::isnan(value)) return "-";
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers) {
    return formatted(value, std::chars_format::fixed, 0);
  }
  const double size = std::abs(value);
  if (size < 1e-4 || size >= 1e9) return formatted(value, std::chars_format::scientific, 3);
  const int before_point = static_cast<int>(std::floor(std::log10(size))) + 1;
  return formatted(value, std::chars_format::fixed, std::max(0, 4 - before_point));
}

}  // namespace analysis
