#pragma once
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

/// The sum of squared deviations from the mean.
double deviation(std::span<const double> values);

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

}  // namespace analysis
