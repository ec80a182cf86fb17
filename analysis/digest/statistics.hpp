#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sweeps/tables/table.hpp"

namespace analysis {

// Statistics of plain numbers. An undefined result, such as the mean of no values, is NaN. A NaN
// among the values makes the result NaN, so filter with observed() first.

/// A column's values as doubles, for any numeric type; empty for text.
std::vector<double> numbers(const sweep::Column& column);

/// The values that are not NaN, in the same order.
std::vector<double> observed(std::span<const double> values);

double mean(std::span<const double> values);

/// Linear interpolation between order statistics, numpy's default; percent in [0, 100].
double percentile(std::span<const double> values, double percent);

struct Interval {
  double low, high;
};

/// The probability that Student's t with `freedom` degrees of freedom (1 or more) is beyond
/// -|t| or |t|. Closed form: Abramowitz and Stegun 26.7.3 and 26.7.4.
double student_t_tails(double t, int freedom);

/// The t with tails of 5 % together, for intervals of 95 %.
double student_t_quantile(int freedom);

/// y = slope x + intercept by least squares. r_squared is NaN if y does not vary; all are NaN if x
/// does not vary.
struct LineFit {
  double slope, intercept, r_squared;
  std::size_t n;
};

/// A least-squares line in constant memory: keeps the means and the sums of products of the
/// deviations from them. Sums of disjoint sets of points can be added.
class LineSums {
 public:
  void add(double x, double y);
  void add(const LineSums& other);
  std::int64_t n() const { return n_; }
  /// The line through the points.
  LineFit fit() const;

 private:
  std::int64_t n_ = 0;
  double mean_x_ = 0, mean_y_ = 0;
  double xx_ = 0, xy_ = 0, yy_ = 0;
};

/// Throws std::invalid_argument when the lengths differ.
LineFit fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace analysis
