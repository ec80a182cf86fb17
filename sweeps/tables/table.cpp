#include "sweeps/tables/table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <type_traits>

namespace sweep {

std::size_t Column::size() const {
  return std::visit([](const auto& values) { return values.size(); }, data);
}

std::size_t Table::rows() const {
  if (columns.empty()) return 0;
  const Column& first = columns.front();
  for (const Column& column : columns) {
    if (column.size() == first.size()) continue;
    throw TableError("table " + name + ": column " + first.name + " has " +
                     std::to_string(first.size()) + " rows and column " + column.name + " has " +
                     std::to_string(column.size()));
  }
  return first.size();
}

bool Table::has(std::string_view column) const {
  return std::any_of(columns.begin(), columns.end(),
                     [column](const Column& each) { return each.name == column; });
}

const Column& Table::column(std::string_view wanted) const {
  for (const Column& each : columns) {
    if (each.name == wanted) return each;
  }
  std::string present;
  for (const Column& each : columns) present += (present.empty() ? "" : ", ") + each.name;
  throw TableError("table " + name + " has no column " + std::string(wanted) + "; it has " +
                   (present.empty() ? "none" : present));
}

void Table::fail_type(const Column& found, const ColumnData& wanted) const {
  throw TableError("table " + name + ": column " + found.name + " holds " +
                   std::string(type_name(found.data)) + ", not " + std::string(type_name(wanted)));
}

Column without_rows(const Column& column) {
  ColumnData none = std::visit(
      [](const auto& values) { return ColumnData(std::decay_t<decltype(values)>()); }, column.data);
  return {column.name,        column.unit,       column.long_name,
          column.is_volatile, column.enum_names, std::move(none)};
}

void append_values(ColumnData& to, const ColumnData& from, RowRange rows) {
  if (to.index() != from.index())
    throw TableError("values of type " + std::string(type_name(from)) + " cannot follow those of " +
                     std::string(type_name(to)));
  std::visit(
      [&](auto& values) {
        const auto& more = std::get<std::decay_t<decltype(values)>>(from);
        const auto slice = std::span(more).subspan(rows.offset, rows.rows);
        values.insert(values.end(), slice.begin(), slice.end());
      },
      to);
}

void fill_up(ColumnData& data, std::size_t rows) {
  std::visit(
      [rows](auto& values) {
        using Value = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (std::is_same_v<Value, double>) {
          values.resize(rows, std::numeric_limits<double>::quiet_NaN());
        } else {
          values.resize(rows, Value{});
        }
      },
      data);
}

void add_missing_columns(Table& table, const Table& like) {
  const std::size_t rows = table.rows();
  for (const Column& column : like.columns) {
    if (table.has(column.name)) continue;
    fill_up(table.columns.emplace_back(without_rows(column)).data, rows);
  }
}

std::string_view type_name(const ColumnData& data) {
  static constexpr std::array<std::string_view, 5> kNames = {"int8", "int32", "int64", "float64",
                                                             "text"};
  return kNames[data.index()];
}

}  // namespace sweep
