#pragma once
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace analysis {

/// A table for a terminal with two header lines, the second for units. Columns are as wide as their
/// widest text; control characters are escaped.
class TextTable {
 public:
  enum class Align { left, right };

  void add_column(const std::string& name, const std::string& unit, Align align);
  /// One text per column.
  void add_row(const std::vector<std::string>& texts);
  void print(std::ostream& out) const;

 private:
  struct Column {
    Align align;
    std::size_t width = 0;
    std::string texts;  // name, unit, rows, each with a newline behind it
  };
  static void append(Column& column, const std::string& text);

  std::vector<Column> columns_;
};

/// A number with four significant digits, or all before its point; whole numbers have all digits;
/// "-" for NaN.
std::string four_digits(double value);
/// "-" for NaN.
std::string two_decimals(double value);

enum class GridFormat { text, md, csv };

/// Texts in rows and named columns, to print or to export.
struct Grid {
  struct Column {
    std::string name, unit;
    bool is_number = true;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // a text per column
};

/// Prints an aligned table, a table in GitHub's Markdown, or RFC 4180 CSV with only the names in
/// the header. Control characters are escaped, except in CSV.
void print_grid(const Grid& grid, GridFormat format, std::ostream& out);

/// The shortest text that reads back to the same number; empty for NaN.
std::string exact_number(double value);

/// A field of RFC 4180, quoted if necessary.
std::string csv_field(std::string_view text);

/// The field of a text that is not a number. A text that a spreadsheet would read as a formula (it
/// begins with = + - @, tab or CR) gets an apostrophe in front.
std::string csv_text(std::string_view text);

}  // namespace analysis
