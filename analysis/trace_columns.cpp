#include "analysis/trace_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "analysis/packed_column.hpp"

namespace analysis {
namespace {

template <class To, class From>
std::string packed_as(std::span<const From> values) {
  const std::vector<To> converted(values.begin(), values.end());
  return packed_small(std::span<const To>(converted));
}

template <class To>
bool holds(std::int64_t low, std::int64_t high) {
  return low >= std::numeric_limits<To>::min() && high <= std::numeric_limits<To>::max();
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// True when it has written the column: each value is the one before and one more.
bool add_counting(JsonLine& line, std::span<const std::int64_t> values) {
  const auto jumps = [](std::int64_t a, std::int64_t b) { return b != a + 1; };
  if (values.empty() || std::ranges::adjacent_find(values, jumps) != values.end()) return false;
  line.open('{').key("from").integer(values.front());
  line.key("rows").integer(static_cast<std::int64_t>(values.size())).close('}');
  return true;
}

/// True when it has written the column: all values are the first one.
template <class T>
bool add_same(JsonLine& line, std::span<const T> values) {
  const auto differs = [&](T value) { return !same(double(value), double(values.front())); };
  if (values.empty() || std::ranges::any_of(values, differs)) return false;
  line.open('{').key("same").number(double(values.front()));
  line.key("rows").integer(static_cast<std::int64_t>(values.size())).close('}');
  return true;
}

template <class T>
void add_column(JsonLine& line, std::string_view name, const std::vector<T>& values) {
  if constexpr (std::is_same_v<T, std::string>) {
    line.key(name).open('[');
    for (const std::string& text : values) line.text(text);
    line.close(']');
  } else if constexpr (std::is_same_v<T, double>) {
    add_numbers(line, name, std::span(values));
  } else {
    add_numbers(line, name, std::vector<std::int64_t>(values.begin(), values.end()));
  }
}

}  // namespace

void add_numbers(JsonLine& line, std::string_view name, std::span<const std::int64_t> values) {
  line.key(name);
  if (add_same(line, values) || add_counting(line, values)) return;
  const auto [low, high] = values.empty() ? std::ranges::min_max_result<std::int64_t>{0, 0}
                                          : std::ranges::minmax(values);
  if (holds<std::uint8_t>(low, high)) {
    line.raw(packed_as<std::uint8_t>(values));
  } else if (holds<std::uint16_t>(low, high)) {
    line.raw(packed_as<std::uint16_t>(values));
  } else if (holds<std::int32_t>(low, high)) {
    line.raw(packed_as<std::int32_t>(values));
  } else {
    line.raw(packed_as<double>(values));
  }
}

void add_numbers(JsonLine& line, std::string_view name, std::span<const double> values) {
  line.key(name);
  if (!add_same(line, values)) line.raw(packed_small(values));
}

void add_table(JsonLine& line, std::string_view name, const sweep::Table& table,
               std::span<const std::string_view> wanted) {
  line.key(name).open('{').key("rows").integer(static_cast<std::int64_t>(table.rows()));
  line.key("columns").open('{');
  for (const std::string_view column : wanted) {
    const auto add = [&](const auto& values) { add_column(line, column, values); };
    std::visit(add, table.column(column).data);
  }
  line.close('}').key("names").open('{');
  for (const std::string_view column : wanted) {
    const std::vector<std::string>& names = table.column(column).enum_names;
    if (names.empty()) continue;
    line.key(column).open('[');
    for (const std::string& enumerator : names) line.text(enumerator);
    line.close(']');
  }
  line.close('}').close('}');
}

}  // namespace analysis
