#include "analysis/text/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "analysis/text/escape.hpp"
#include "sweeps/text/text.hpp"

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

void print_table(const Grid& grid, std::ostream& out) {
  std::vector<std::vector<std::string>> lines(2);
  for (const Grid::Column& column : grid.columns) {
    lines[0].push_back(terminal_text(column.name));
    lines[1].push_back(terminal_text(column.unit));
  }
  for (const auto& row : grid.rows) {
    if (row.size() != grid.columns.size()) throw std::logic_error("a row needs a text per column");
    auto& line = lines.emplace_back();
    for (const std::string& text : row) line.push_back(terminal_text(text));
  }
  std::vector<std::size_t> widths(grid.columns.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], display_width(line[i]));
  for (const auto& texts : lines) {
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string padding(widths[i] - display_width(texts[i]), ' ');
      line += (i > 0 ? "  " : "") +
              (grid.columns[i].is_number ? padding + texts[i] : texts[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

/// Quoted if necessary.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

void print_csv(const Grid& grid, std::ostream& out) {
  for (std::size_t i = 0; i < grid.columns.size(); ++i)
    out << (i > 0 ? "," : "") << csv_text(grid.columns[i].name);
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

std::string in_percent(double share) { return four_digits(std::round(share * 1000) / 10); }

void print_grid(const Grid& grid, GridFormat format, std::ostream& out) {
  format == GridFormat::csv ? print_csv(grid, out) : print_table(grid, out);
}

std::string exact_number(double value) {
  return std::isnan(value) ? "" : sweep::shortest_text(value);
}

std::string csv_text(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  const bool is_formula = !text.empty() && kFormula.find(text.front()) != kFormula.npos;
  return csv_field(is_formula ? '\'' + std::string(text) : std::string(text));
}

}  // namespace analysis
