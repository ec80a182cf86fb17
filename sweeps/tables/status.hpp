#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace sweep {

/// Outcome of a cell. The numbers are stored in archives and never change.
enum class CellStatus : std::int8_t {
  planned = 0,
  ok = 1,
  failed = 2,
  timeout = 3,
  infeasible = 4,   // cannot run as configured, e.g. the pool is smaller than one sequence
  excluded = 5,     // excluded by the sweep file, or its policy is not built
  quarantined = 6,  // killed its process twice
};

inline constexpr std::array<std::string_view, 7> kCellStatusNames = {
    "planned", "ok", "failed", "timeout", "infeasible", "excluded", "quarantined"};

constexpr std::string_view to_text(CellStatus status) {
  return kCellStatusNames[static_cast<std::size_t>(status)];
}

}  // namespace sweep
