#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "analysis/json_line.hpp"
#include "sweeps/table.hpp"

namespace analysis {

/// Adds "name": with the numbers packed (packed_small) in the smallest type that holds all of them,
/// or, when they are all the same, {"same":value,"rows":n}. What was not observed is NaN, and null
/// in "same".
void add_numbers(JsonLine& line, std::string_view name, std::span<const std::int64_t> values);
void add_numbers(JsonLine& line, std::string_view name, std::span<const double> values);

/// Adds "name":{"rows":n,"columns":{...},"names":{column: [enumerators]}} with every column of the
/// table; texts are plain arrays.
void add_table(JsonLine& line, std::string_view name, const sweep::Table& table);

}  // namespace analysis
