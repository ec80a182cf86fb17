#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

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

/// A piecewise constant quantity over equal spans of time.
struct TimeBuckets {
  std::vector<double> mean;      // weighted by time
  std::vector<double> min, max;  // over the values within the span
};

/// `value[i]` holds from start[i] to start[i + 1], the last one until `end`; `start` ascends. Spans
/// before start[0] are NaN. Returns empty vectors unless end > start[0] and count > 0.
TimeBuckets bucket_levels(std::span<const double> start, std::span<const double> value, double end,
                          int count);

/// Spreads `amount[i]` evenly over duration[i] from start[i] on. Returns the rate per second in
/// each of `count` equal spans of [0, end].
std::vector<double> bucket_rates(std::span<const double> start, std::span<const double> duration,
                                 std::span<const double> amount, double end, int count);

}  // namespace analysis
