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

struct BootstrapConfig {
  double confidence = 0.95;
  int resamples = 10'000;
  std::uint64_t seed = 42;
};

/// Percentile bootstrap interval of the mean. Deterministic: the same values and config give the
/// same interval on every machine.
Interval bootstrap_mean_interval(std::span<const double> values,
                                 const BootstrapConfig& config = {});

/// y = slope x + intercept by least squares. r_squared is NaN if y does not vary; all are NaN if x
/// does not vary.
struct LineFit {
  double slope, intercept, r_squared;
  std::size_t n;
};

/// Throws std::invalid_argument when the lengths differ.
LineFit fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace analysis
