#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace analysis {

// Many numbers made few enough to draw, without losing what is rare.

/// Counts of whole numbers in bins whose edges grow by a quarter of an octave, single numbers up to
/// 8. Zero has a bin of its own.
class TokenHistogram {
 public:
  void add(std::int64_t tokens) { ++counts_[bin_of(tokens)]; }
  void add(const TokenHistogram& other);

  static int bin_of(std::int64_t tokens);
  /// The smallest number of a bin; the bin ends below the next one's.
  static std::int64_t first_of(int bin);
  /// Bins that hold something.
  const std::map<int, std::int64_t>& counts() const { return counts_; }

 private:
  std::map<int, std::int64_t> counts_;
};

/// Of the points that fall into one field of a grid, the first, and how many there are. Fields are
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

/// A quantity that keeps its value from each instant to the next, over equal spans of time.
struct TimeBuckets {
  std::vector<double> mean;      // weighted by time
  std::vector<double> min, max;  // of the values that held in the span
};

/// `value[i]` holds from start[i] to start[i + 1], the last one until `end`; start ascends. Spans
/// before the first instant are NaN. Needs end > start[0] and count > 0, otherwise nothing is
/// there.
TimeBuckets bucket_levels(std::span<const double> start, std::span<const double> value, double end,
                          int count);

/// `amount[i]` flows evenly from start[i] for duration[i]; per second in each of `count` equal
/// spans of [0, end].
std::vector<double> bucket_rates(std::span<const double> start, std::span<const double> duration,
                                 std::span<const double> amount, double end, int count);

}  // namespace analysis
