#pragma once
#include <span>

#include "analysis/compare/published.hpp"

namespace analysis {

/// The metric of the files of sweeps/coverage, which analysis/python/coverage.py writes: of a
/// cell's 95 % intervals of the ratio to fcfs with 3, 5 or 10 seeds, the percent that contain the
/// ratio over 200 seeds, the least of the three. Cells with 90 % or more are not listed, and those
/// listed are "on an edge".
inline constexpr const char* kCoverage = "interval_coverage_percent";

/// With this many seeds or more outliers and modes are drawn often enough.
inline constexpr std::size_t kManyRepeats = 30;

/// How many percent of the intervals hold at least, if the cell is on an edge; else NaN.
/// `coverage`: files of sweeps/coverage. `repeats`: of the cell's interval; with fewer than three
/// there is none.
double held_percent(const ConfiguredCell& cell, std::size_t repeats,
                    std::span<const Published> coverage);

}  // namespace analysis
