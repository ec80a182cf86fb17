#pragma once
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace analysis {

enum class GridFormat { text, md, csv };

/// Texts in rows and named columns, for people or for programs.
struct Grid {
  struct Column {
    std::string name, unit;
    bool is_number = true;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // a text per column
};

/// As an aligned table, as a table of GitHub's Markdown, or as RFC 4180 CSV with the names alone in
/// the header. What a terminal would act on is spelled out, but for CSV.
void print_grid(const Grid& grid, GridFormat format, std::ostream& out);

/// The shortest text that reads back to the same number; empty for NaN.
std::string exact_number(double value);

/// A field of RFC 4180: in quotes when it has to be.
std::string csv_field(std::string_view text);

/// The field of a text, and not of a number: where a spreadsheet would take it for a formula
/// (= + - @, tab or CR in front), it has an apostrophe in front.
std::string csv_text(std::string_view text);

}  // namespace analysis
