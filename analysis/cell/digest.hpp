#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cell/bins.hpp"
#include "analysis/cell/statistics.hpp"
#include "sweeps/tables/table.hpp"

namespace analysis {

// The rows of a cell, reduced for a page. Digests of several cells can be added.

/// A numeric column as doubles; empty if the table lacks it.
std::vector<double> numbers_of(const sweep::Table& table, std::string_view column);

/// Steps by one measure of their size.
struct StepSizes {
  TokenHistogram histogram;
  LineSums line;         // duration [s] over tokens
  ThinnedPoints points;  // x tokens, y duration [s]

  void add(const StepSizes& other);
};

struct StepDigest {
  StepSizes total;    // x: scheduled tokens of the step
  StepSizes largest;  // x: scheduled tokens of its largest request

  void add(const StepDigest& other);
};
StepDigest digest_steps(const sweep::Table& steps);

/// Durations and prompt tokens of all turns with one index; sums over `turns` of them.
struct TurnSums {
  std::int64_t turns = 0;
  std::vector<double> durations_s;                               // arrival to last token
  double gpu_tok = 0, host_tok = 0, again_tok = 0, new_tok = 0;  // prompt tokens by source
};

/// The parts of a job's time, in the order they are shown.
inline constexpr std::array<std::string_view, 7> kJctParts = {
    "queue", "load stall", "recompute", "prefill", "decode", "gap", "other"};

struct JobDigest {
  std::vector<TurnSums> by_turn;  // by index, from 0
  std::vector<double> jct_s;      // first arrival to last token of every finished job
  std::array<double, kJctParts.size()> part_s{};  // sums over those jobs

  void add(const JobDigest& other);
};
JobDigest digest_jobs(const sweep::Table& jobs, const sweep::Table& turns);

/// One quantity over the time of a cell, in equal spans.
struct TimeLine {
  std::string name, unit;
  std::vector<double> values;
};
struct CellTimes {
  static constexpr int kSpans = 240;
  double end_s = 0;
  std::vector<TimeLine> lines;
};
/// Levels are means over each span; "..._max" and "..._min" are the extremes within it. Columns
/// that the table lacks are left out.
CellTimes digest_times(const sweep::Table& steps, int spans = CellTimes::kSpans);

}  // namespace analysis
