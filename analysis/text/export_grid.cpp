#include "analysis/text/export_grid.hpp"

#include <charconv>
#include <cmath>
#include <ostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

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
