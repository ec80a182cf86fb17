#pragma once
// The code that SWEEP_ROW() generates from a list of columns.
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "sweeps/tables/enum_names.hpp"
#include "sweeps/tables/table.hpp"

namespace sweep {

/// With these names h5py reads numpy booleans.
inline std::span<const std::string_view> enum_names(bool) {
  static constexpr std::string_view kNames[] = {"FALSE", "TRUE"};
  return kNames;
}

/// One column of a row type.
template <class Row>
struct Field {
  std::string_view name, unit, long_name;
  bool is_volatile;
  std::span<const std::string_view>
      enum_names;  // empty unless the member is an enumeration or a bool
  ColumnData (*empty)();
  void (*append)(std::span<const Row> rows, ColumnData& to);
};

/// The table with rows of this type: its name and its columns in order.
template <class Row>
struct Schema {
  std::string_view name;
  std::span<const Field<Row>> fields;
};

/// Defined by SWEEP_ROW().
template <class Row>
Schema<Row> schema();

template <class T>
inline constexpr bool kIsEnumerated = std::is_enum_v<T> || std::is_same_v<T, bool>;

template <auto Member>
struct Gather;

/// Appends one member of every row to a column: enumerations and booleans as int8, other types
/// unchanged.
template <class Row, class Value, Value Row::*Member>
struct Gather<Member> {
  using Stored = std::vector<std::conditional_t<kIsEnumerated<Value>, std::int8_t, Value>>;

  static ColumnData empty() { return Stored(); }
  static void append(std::span<const Row> rows, ColumnData& to) {
    auto& values = std::get<Stored>(to);
    const std::size_t before = values.size();
    values.resize(before + rows.size());
    auto value = values.begin() + static_cast<std::ptrdiff_t>(before);
    for (const Row& row : rows) *value++ = static_cast<typename Stored::value_type>(row.*Member);
  }
  static Field<Row> field(std::string_view name, std::string_view unit, std::string_view long_name,
                          bool is_volatile = false) {
    std::span<const std::string_view> names;
    if constexpr (kIsEnumerated<Value>) names = enum_names(Value{});
    return {name, unit, long_name, is_volatile, names, empty, append};
  }
  static Field<Row> field(std::string_view, std::string_view unit, std::string_view long_name,
                          const char* name) {
    return field(name, unit, long_name);
  }
};

/// Appends rows to a table that has the columns of their type.
template <class Row>
void append_rows(std::span<const Row> rows, Table& table) {
  const auto fields = schema<Row>().fields;
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].append(rows, table.columns[i].data);
}

/// Converts rows to columns. Without rows the table has every column, empty.
template <class Row>
Table to_table(std::span<const Row> rows) {
  const auto [name, fields] = schema<Row>();
  Table table{std::string(name), {}};
  for (const Field<Row>& field : fields) {
    table.columns.push_back({std::string(field.name),
                             std::string(field.unit),
                             std::string(field.long_name),
                             field.is_volatile,
                             {field.enum_names.begin(), field.enum_names.end()},
                             field.empty()});
  }
  append_rows(rows, table);
  return table;
}

}  // namespace sweep

// Calls a macro with each list of arguments, of which there may be 64.
#define SWEEP_PARENS ()
#define SWEEP_RESCAN(...) \
  SWEEP_RESCAN_3(SWEEP_RESCAN_3(SWEEP_RESCAN_3(SWEEP_RESCAN_3(__VA_ARGS__))))
#define SWEEP_RESCAN_3(...) \
  SWEEP_RESCAN_2(SWEEP_RESCAN_2(SWEEP_RESCAN_2(SWEEP_RESCAN_2(__VA_ARGS__))))
#define SWEEP_RESCAN_2(...) \
  SWEEP_RESCAN_1(SWEEP_RESCAN_1(SWEEP_RESCAN_1(SWEEP_RESCAN_1(__VA_ARGS__))))
#define SWEEP_RESCAN_1(...) __VA_ARGS__
#define SWEEP_EACH(Macro, ...) SWEEP_RESCAN(SWEEP_NEXT(Macro, __VA_ARGS__))
#define SWEEP_NEXT(Macro, list, ...) \
  Macro list __VA_OPT__(SWEEP_AGAIN SWEEP_PARENS(Macro, __VA_ARGS__))
#define SWEEP_AGAIN() SWEEP_NEXT

#define SWEEP_MEMBER(Type, name, value, ...) Type name = value;
#define SWEEP_FIELD(Type, name, value, ...) Gather<&R::name>::field(#name, __VA_ARGS__),

/// A row type, and the table with such rows. Each list is a column: type, name, value of a new row,
/// unit, meaning, and kVolatile if it depends on the machine, or the column's name if the member
/// must have another.
#define SWEEP_ROW(Row, table, ...)                                            \
  struct Row {                                                                \
    SWEEP_EACH(SWEEP_MEMBER, __VA_ARGS__)                                     \
  };                                                                          \
  template <>                                                                 \
  inline Schema<Row> schema<Row>() {                                          \
    using R = Row;                                                            \
    static const Field<R> kFields[] = {SWEEP_EACH(SWEEP_FIELD, __VA_ARGS__)}; \
    return {table, kFields};                                                  \
  }
