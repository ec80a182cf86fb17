#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include "workers/engine/base/clock.hpp"

namespace workload {

std::string_view trimmed(std::string_view text);
/// The whole text as a number.
std::optional<double> number_in(std::string_view text);
/// Time since 1970 of "2023-11-16 18:17:03.9799600", optionally with T instead of the blank and
/// followed by Z or +00:00.
std::optional<engine::Nanos> date_time(std::string_view text);
/// The column's cell without blanks and quotes; empty optional if the row is shorter.
std::optional<std::string_view> csv_cell(std::string_view row, std::size_t column);

}  // namespace workload
