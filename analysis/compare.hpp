#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare_config.hpp"
#include "analysis/export_grid.hpp"
#include "analysis/statistics.hpp"

namespace analysis {

/// Cells were asked to be compared that differ in more than was named, or there are none to
/// compare. what() names the key and both values.
struct CompareError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct CompareQuestion {
  /// Keys that cells may differ in; whatever follows from one of them may differ too: policy.* from
  /// policy, pool and cost constants from gpu. Seeds may always differ, backends never.
  std::vector<std::string> by;
  std::string metric;                // a figure
  std::optional<sweep::Value> base;  // of the first key; by default its first value in plan order
};

/// One group of repeats over another.
struct Comparison {
  std::vector<std::optional<sweep::Value>> at;  // of the compared cells, a value per named key
  double base = 0, value = 0;                   // means over the repeats that count
  double ratio = 0;                             // value / base
  Interval interval{};                          // of the ratio, 95 %; NaN for a single repeat
  std::size_t repeats = 0;
  std::string over;  // what it is divided by, e.g. "fcfs"
};

struct ComparisonReport {
  std::string metric, unit;
  std::vector<std::string> by;
  std::vector<Comparison> rows;  // in plan order
  int without_result = 0;        // cells that were left out
  int without_partner = 0;       // groups that have nothing to be divided by
};

/// Every other value of the first key over the base's, where the remaining keys are equal. A key
/// that the base lacks (dram_gib of a policy without a tier) is equal to anything. Throws
/// CompareError.
ComparisonReport compare_within(std::span<const ConfiguredCell> cells,
                                const CompareQuestion& question);

/// `b` over `a` where the named keys are equal. A named key of which the two have no value in
/// common is what is compared. Throws CompareError.
ComparisonReport compare_archives(std::span<const ConfiguredCell> a,
                                  std::span<const ConfiguredCell> b,
                                  const CompareQuestion& question);

/// The axes of these cells, policy first.
std::vector<std::string> axes_to_compare(std::span<const ConfiguredCell> cells);

/// With four digits for people, exact for CSV.
Grid to_grid(const ComparisonReport& report, GridFormat format);

/// Of the ratio of the means of `value` and `base`, by resampling: pairs when `paired`, otherwise
/// each side for itself. The same on every machine; NaN when a side has fewer than two.
Interval bootstrap_ratio_interval(std::span<const double> base, std::span<const double> value,
                                  bool paired, const BootstrapConfig& config = {});

/// Throws CompareError when repeats of what should be one cell differ in anything but their seed.
void require_same_config(const ConfiguredCell& a, const ConfiguredCell& b);

}  // namespace analysis
