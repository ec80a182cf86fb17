#pragma once
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/text/text.hpp"

namespace analysis {

/// A number with four significant digits, or all before its point; whole numbers have all digits;
/// "-" for NaN.
std::string four_digits(double value);
/// "-" for NaN.
std::string two_decimals(double value);
/// In percent, rounded to a tenth, in four digits; "-" for NaN.
std::string in_percent(double share);

enum class GridFormat { text, csv };

/// Texts in rows and named columns, to print or to export.
struct Grid {
  struct Column {
    std::string name, unit;
    bool is_number = true;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // a text per column
};

/// Prints a table for a terminal with two header lines, the second for units: columns are as wide
/// as their widest text, numbers on the right, control characters escaped. Or RFC 4180 CSV with
/// only the names in the header.
void print_grid(const Grid& grid, GridFormat format, std::ostream& out);
inline void print_text(const Grid& grid, std::ostream& out) {
  print_grid(grid, GridFormat::text, out);
}

/// The shortest text that reads back to the same number; empty for NaN.
std::string exact_number(double value);

using sweep::number_from;

/// The field of RFC 4180 of a text that is not a number, quoted if necessary. A text that a
/// spreadsheet would read as a formula (it begins with = + - @, tab or CR) gets an apostrophe in
/// front.
std::string csv_text(std::string_view text);

}  // namespace analysis
