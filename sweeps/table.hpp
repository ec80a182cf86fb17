#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sweep {

/// A column or a type that is not there was asked of a table.
struct TableError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using ColumnData =
    std::variant<std::vector<std::int8_t>, std::vector<std::int32_t>, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>>;

/// One column of a table: a dataset of the archive, with its attributes.
struct Column {
  std::string name;
  std::string unit;       // "s", "tok", "B", ...; empty for plain numbers and names
  std::string long_name;  // what the numbers are, for a reader who has only the archive
  bool is_volatile =
      false;  // depends on the machine or the moment: left out when results are compared
  std::vector<std::string> enum_names;  // not empty: int8 data are positions in this list
  ColumnData data;

  std::size_t size() const;
};

/// Columns of equal length under one name.
struct Table {
  std::string name;
  std::vector<Column> columns;

  /// Throws TableError when the columns differ in length.
  std::size_t rows() const;
  bool has(std::string_view column) const;
  /// Throws TableError naming table, column and the columns that exist.
  const Column& column(std::string_view name) const;

  /// The column's numbers as they are stored. Throws TableError when they are of another type.
  template <class T>
  const std::vector<T>& values(std::string_view name) const {
    const Column& found = column(name);
    if (const auto* data = std::get_if<std::vector<T>>(&found.data)) return *data;
    fail_type(found, ColumnData(std::vector<T>()));
  }

 private:
  [[noreturn]] void fail_type(const Column& found, const ColumnData& wanted) const;
};

/// Lengthens a column with nothing: NaN, 0 or the empty text.
void fill_up(ColumnData& data, std::size_t rows);
/// Gives the table those columns of `like` that it lacks, holding nothing, behind its own.
void add_missing_columns(Table& table, const Table& like);

/// "int8", "int32", "int64", "float64" or "text".
std::string_view type_name(const ColumnData& data);

/// Whether both hold the same rows in the columns that are not volatile. NaN equals NaN.
bool same_results(const Table& a, const Table& b);

}  // namespace sweep
