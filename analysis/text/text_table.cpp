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

void print_text(const Grid& grid, std::ostream& out) {
  TextTable table;
  for (const Grid::Column& column : grid.columns) {
    table.add_column(column.name, column.unit,
                     column.is_number ? TextTable::Align::right : TextTable::Align::left);
  }
  for (const auto& row : grid.rows) table.add_row(row);
  table.print(out);
}

/// A cell of a Markdown table, with escaped bars, tags and entities.
std::string md_cell(const std::string& text) {
  std::string cell;
  for (const char c : terminal_text(text)) {
    if (c == '|' || c == '<' || c == '&') cell += '\\';
    cell += c;
  }
  return cell;
}

void print_md(const Grid& grid, std::ostream& out) {
  std::string header = "|", rule = "|";
  for (const Grid::Column& column : grid.columns) {
    header += ' ' + md_cell(column.name) +
              (column.unit.empty() ? "" : " [" + md_cell(column.unit) + ']') + " |";
    rule += column.is_number ? "---:|" : "---|";
  }
  out << header << '\n' << rule << '\n';
  for (const auto& row : grid.rows) {
    out << '|';
    for (const std::string& text : row) out << ' ' << md_cell(text) << " |";
    out << '\n';
  }
}

void print_csv(const Grid& grid, std::ostream& out) {
  const char* comma = "";
  for (const Grid::Column& column : grid.columns) {
    out << comma << csv_text(column.name);
    comma = ",";
  }
  out << "\r\n";
  for (const auto& row : grid.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_number = grid.columns[i].is_number;
      out << (i > 0 ? "," : "") << (is_number ? csv_field(row[i]) : csv_text(row[i]));
    }
    out << "\r\n";
  }
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

void print_grid(const Grid& grid, GridFormat format, std::ostream& out) {
  switch (format) {
    case GridFormat::text:
      return print_text(grid, out);
    case GridFormat::md:
      return print_md(grid, out);
    case GridFormat::csv:
      return print_csv(grid, out);
  }
}

std::string exact_number(double value) {
  if (std::isnan(value)) return "";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end};
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

std::string csv_text(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  const bool is_formula = !text.empty() && kFormula.find(text.front()) != kFormula.npos;
  return csv_field(is_formula ? '\'' + std::string(text) : std::string(text));
}

}  // namespace analysis
