#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sweep {

/// A table does not have the requested column or type.
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
  std::string long_name;  // what the values mean, for readers that have only the archive
  bool is_volatile =
      false;  // depends on the machine or the moment; ignored when results are compared
  std::vector<std::string> enum_names;  // if not empty, int8 data are positions in this list
  ColumnData data;

  std::size_t size() const;
};

/// Rows [offset, offset + rows) of a table.
struct RowRange {
  std::size_t offset = 0, rows = 0;
  bool operator==(const RowRange&) const = default;
};

/// Columns of equal length under one name.
struct Table {
  std::string name;
  std::vector<Column> columns;

  /// Throws TableError when the columns differ in length.
  std::size_t rows() const;
  bool has(std::string_view column) const;
  /// Throws TableError, which names the table, the column and the columns that exist.
  const Column& column(std::string_view name) const;

  /// The column's values as stored. Throws TableError when they have another type.
  template <class T>
  const std::vector<T>& values(std::string_view name) const {
    const Column& found = column(name);
    if (const auto* data = std::get_if<std::vector<T>>(&found.data)) return *data;
    fail_type(found, ColumnData(std::vector<T>()));
  }

 private:
  [[noreturn]] void fail_type(const Column& found, const ColumnData& wanted) const;
};

/// The column without rows.
Column without_rows(const Column& column);
/// Appends these values of `from`. Throws TableError when the types differ.
void append_values(ColumnData& to, const ColumnData& from, RowRange rows);
/// Extends a column to `rows` values with NaN, 0 or empty texts.
void fill_up(ColumnData& data, std::size_t rows);
/// Appends the columns of `like` that the table lacks, filled with NaN, 0 or empty texts.
void add_missing_columns(Table& table, const Table& like);

/// "int8", "int32", "int64", "float64" or "text".
std::string_view type_name(const ColumnData& data);

}  // namespace sweep
