#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/digest/fits.hpp"
#include "analysis/digest/statistics.hpp"
#include "sweeps/tables/table.hpp"

namespace analysis {

// Reduces many numbers to few enough to draw, and keeps rare values.

/// Counts of whole numbers in bins of a quarter of an octave; each number below 8, including zero,
/// has a bin of its own.
class TokenHistogram {
 public:
  void add(std::int64_t tokens) { ++counts_[bin_of(tokens)]; }
  void add(const TokenHistogram& other);

  static int bin_of(std::int64_t tokens);
  /// The smallest number of a bin; the bin ends below the next one's.
  static std::int64_t first_of(int bin);
  /// The counts of bins that are not empty.
  const std::map<int, std::int64_t>& counts() const { return counts_; }

 private:
  std::map<int, std::int64_t> counts_;
};

/// Keeps the first point in each field of a grid, and the number of points in the field. Fields are
/// a twelfth of an octave wide in both directions, so every outlier stays.
class ThinnedPoints {
 public:
  struct Point {
    double x, y;
    std::int64_t count;
  };
  void add(double x, double y);
  void add(const ThinnedPoints& other);
  std::vector<Point> points() const;  // ordered by field

 private:
  std::map<std::pair<int, int>, Point> fields_;
};

/// Means over `count` equal spans of [0, end] of a piecewise constant quantity: `value[i]` holds
/// from start[i] to start[i + 1], the last one until `end`; `start` ascends. Spans before start[0]
/// are NaN. Empty unless end > start[0] and count > 0.
std::vector<double> bucket_means(std::span<const double> start, std::span<const double> value,
                                 double end, int count);

// The rows of a cell, reduced for a page. Digests of several cells can be added.

/// A numeric column as doubles; empty if the table lacks it.
std::vector<double> numbers_of(const sweep::Table& table, std::string_view column);

/// Steps by one measure of their size.
struct StepSizes {
  TokenHistogram histogram;
  LeastSquares line{1};  // duration [s] over tokens
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

/// The parts of a job's time, in the order they are shown; the last one is what no column explains.
struct JctPart {
  const char *name, *column, *color;
};
inline constexpr std::array<JctPart, 7> kJctParts = {{{"queue", "queue_s", "queue"},
                                                      {"load stall", "load_stall_s", "load"},
                                                      {"recompute", "recompute_s", "again"},
                                                      {"prefill", "prefill_s", "prefill"},
                                                      {"decode", "decode_s", "decode"},
                                                      {"gap", "gap_s", "tool"},
                                                      {"other", "", "other"}}};

struct JobDigest {
  std::vector<TurnSums> by_turn;  // by index, from 0
  std::vector<double> jct_s;      // first arrival to last token of every finished job
  std::array<double, kJctParts.size()> part_s{};  // sums over those jobs

  void add(const JobDigest& other);
};
JobDigest digest_jobs(const sweep::Table& jobs, const sweep::Table& turns);

}  // namespace analysis
