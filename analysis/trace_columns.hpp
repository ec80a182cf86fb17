#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "analysis/json_line.hpp"
#include "sweeps/table.hpp"

namespace analysis {

/// Adds "name": with the numbers packed (packed_small) in the smallest type that holds all of them,
/// or, when they are all the same, {"same":value,"rows":n}; numbers that count up by one give
/// {"from":first,"rows":n}. What was not observed is NaN, and null in "same".
void add_numbers(JsonLine& line, std::string_view name, std::span<const std::int64_t> values);
void add_numbers(JsonLine& line, std::string_view name, std::span<const double> values);

/// Adds "name":{"rows":n,"columns":{...},"names":{column: [enumerators]}} with those of the table's
/// columns that are wanted; texts are plain arrays. Throws sweep::TableError when one is missing.
void add_table(JsonLine& line, std::string_view name, const sweep::Table& table,
               std::span<const std::string_view> wanted);

}  // namespace analysis
