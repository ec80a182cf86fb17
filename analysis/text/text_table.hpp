#pragma once
#include <iosfwd>
#include <string>
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

}  // namespace analysis
