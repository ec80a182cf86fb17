#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "sweeps/tables/table.hpp"

// In the namespace of tables, so that a call finds it.
namespace sweep {

/// Whether both columns have the same values; NaN equals NaN.
inline bool same_data(const ColumnData& a, const ColumnData& b) {
  if (a.index() != b.index()) return false;
  const auto same = [](const auto& x, const auto& y) {
    if constexpr (std::is_same_v<decltype(x), const double&>)
      if (std::isnan(x) && std::isnan(y)) return true;
    return x == y;
  };
  return std::visit(
      [&](const auto& left) {
        return std::ranges::equal(left, std::get<std::decay_t<decltype(left)>>(b), same);
      },
      a);
}

/// Enumerators are only ever added or taken away at the end.
inline bool agree(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto least = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return std::equal(a.begin(), a.begin() + least, b.begin());
}

/// Whether both tables have the same rows, ignoring volatile columns.
inline bool same_results(Table a, Table b) {
  for (Table* each : {&a, &b})
    std::erase_if(each->columns, [](const Column& column) { return column.is_volatile; });
  return a.name == b.name &&
         std::ranges::equal(a.columns, b.columns, [](const Column& x, const Column& y) {
           return x.name == y.name && agree(x.enum_names, y.enum_names) &&
                  same_data(x.data, y.data);
         });
}

}  // namespace sweep
