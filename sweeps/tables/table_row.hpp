#pragma once
#include "sweeps/tables/table.hpp"

namespace sweep {

/// The enumerator in a row. Throws TableError if it has no name.
inline const std::string& name_in(const Column& column, std::size_t row) {
  const std::int8_t value = std::get<std::vector<std::int8_t>>(column.data)[row];
  if (value >= 0 && static_cast<std::size_t>(value) < column.enum_names.size())
    return column.enum_names[static_cast<std::size_t>(value)];
  throw TableError(column.name + " holds " + std::to_string(value) + ", which has no name");
}

/// One row of a table. Columns are looked for by name; throws TableError as Table::values() does.
struct TableRow {
  const Table& table;
  std::size_t row;

  template <class T>
  const T& at(std::string_view column) const {
    return table.values<T>(column)[row];
  }
  std::int32_t count(std::string_view column) const { return at<std::int32_t>(column); }
  double number(std::string_view column) const { return at<double>(column); }
  const std::string& text(std::string_view column) const { return at<std::string>(column); }
  /// Name of an enumerator.
  const std::string& name(std::string_view column) const {
    return name_in(table.column(column), row);
  }
};

}  // namespace sweep
