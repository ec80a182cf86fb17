#pragma once
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/regression.hpp"
#include "analysis/report_bins.hpp"
#include "sweeps/table.hpp"

namespace analysis {

// The rows of a cell made small enough for a page. Digests of several cells can be joined.

/// A numeric column as doubles; empty where the table lacks it.
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

/// What all turns of one index took and found; sums over `turns` of them.
struct TurnSums {
  std::int64_t turns = 0;
  std::vector<double> durations_s;                               // arrival to last token
  double gpu_tok = 0, host_tok = 0, again_tok = 0, new_tok = 0;  // of the prompts
};

/// The parts of a job's time, in the order they are shown.
inline constexpr std::array<std::string_view, 7> kJctParts = {
    "queue", "load stall", "recompute", "prefill", "decode", "gap", "other"};

struct JobDigest {
  std::vector<TurnSums> by_turn;  // by index, from 0
  std::vector<double> jct_s;      // of every job that finished: first arrival to last token
  std::array<double, kJctParts.size()> part_s{};  // sums over those jobs

  void add(const JobDigest& other);
};
JobDigest digest_jobs(const sweep::Table& jobs, const sweep::Table& turns);

/// One line over the time of a cell, in equal spans.
struct TimeLine {
  std::string name, unit;
  std::vector<double> values;
};
struct CellTimes {
  static constexpr int kSpans = 240;
  double end_s = 0;
  std::vector<TimeLine> lines;
};
/// Levels are means over each span, "..._max" and "..._min" the extremes within it; what the table
/// lacks is left out.
CellTimes digest_times(const sweep::Table& steps, int spans = CellTimes::kSpans);

}  // namespace analysis
