#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sweep {

/// One attempt at a cell.
struct Attempt {
  int cell = 0;    // its index in the plan
  int number = 0;  // counts from 1 over all runs; 0: never attempted
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

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

/// Whether the cell was started and has no result.
constexpr bool has_failed(CellStatus status) {
  return status == CellStatus::failed || status == CellStatus::timeout ||
         status == CellStatus::quarantined;
}

/// How much of a cell's result is stored; each level has what the ones before it have. The numbers
/// are stored in archives and never change.
enum class RecordLevel : std::int8_t {
  summary = 0,  // the row of /cells
  jobs = 1,     // /jobs and /turns
  all = 2,      // every table
};

inline constexpr std::array<std::string_view, 3> kRecordLevelNames = {"summary", "jobs", "all"};

constexpr std::string_view to_text(RecordLevel level) {
  return kRecordLevelNames[static_cast<std::size_t>(level)];
}

/// Nothing when there is no such level.
constexpr std::optional<RecordLevel> record_level_of(std::string_view name) {
  const auto found = std::ranges::find(kRecordLevelNames, name);
  if (found == kRecordLevelNames.end()) return std::nullopt;
  return static_cast<RecordLevel>(found - kRecordLevelNames.begin());
}

/// The lowest level at which a cell has rows in the table of this name.
constexpr RecordLevel level_of_table(std::string_view table) {
  return table == "jobs" || table == "turns" ? RecordLevel::jobs : RecordLevel::all;
}

}  // namespace sweep
