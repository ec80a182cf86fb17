#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sweep {

/// How much of a cell's result is stored; each level has what the ones before it have. The numbers
/// are stored in archives and never change.
enum class RecordLevel : std::int8_t {
  summary = 0,  // the row of /cells and the histograms of its steps
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
