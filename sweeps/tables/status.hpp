#pragma once
#include <optional>

#include "sweeps/tables/enum_names.hpp"

namespace sweep {

/// One attempt at a cell.
struct Attempt {
  int cell = 0;    // its index in the plan
  int number = 0;  // counts from 1 over all runs; 0: never attempted
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

// Archives hold positions: these never change, and new enumerators come last.

/// Outcome of a cell.
SWEEP_ENUM(CellStatus, planned, ok, failed, timeout,
           infeasible,   // cannot run as configured, e.g. the pool is smaller than one sequence
           excluded,     // excluded by the sweep file, or its policy is not built
           quarantined)  // killed its process twice

/// How much of a cell's result is stored; each level has what the ones before it have.
SWEEP_ENUM(RecordLevel,
           summary,  // the row of /cells
           jobs,     // /jobs and /turns
           all)      // every table

inline std::string_view to_text(CellStatus status) {
  return enum_names(status)[static_cast<std::size_t>(status)];
}
inline std::string_view to_text(RecordLevel level) {
  return enum_names(level)[static_cast<std::size_t>(level)];
}

/// Whether the cell was started and has no result.
constexpr bool has_failed(CellStatus status) {
  return status == CellStatus::failed || status == CellStatus::timeout ||
         status == CellStatus::quarantined;
}

/// Nothing when there is no such level.
inline std::optional<RecordLevel> record_level_of(std::string_view name) {
  const auto names = enum_names(RecordLevel{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<RecordLevel>(found - names.begin());
}

/// The lowest level at which a cell has rows in the table of this name.
constexpr RecordLevel level_of_table(std::string_view table) {
  return table == "jobs" || table == "turns" ? RecordLevel::jobs : RecordLevel::all;
}

}  // namespace sweep
