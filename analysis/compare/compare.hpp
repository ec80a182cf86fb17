#pragma once
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/compare/estimate.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

/// The cells to compare differ in more than the named keys, or there are none. what() names the key
/// and both values.
struct CompareError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct CompareQuestion {
  /// Keys that cells may differ in. Keys that follow from one of them may differ as well: policy.*
  /// from policy, pool and cost constants from gpu. Seeds may always differ, backends never.
  std::vector<std::string> by;
  std::string metric;                // a figure
  std::optional<sweep::Value> base;  // value of the first key; default: the first in plan order
};

/// The ratio of one group of repeats to another.
struct Comparison {
  std::vector<std::optional<sweep::Value>> at;  // the compared cells' value of each named key
  double base = 0, value = 0;                   // means over the compared repeats
  Ratio ratio;                                  // value / base
  std::string over;                             // name of the base, e.g. "fcfs"
};

struct ComparisonReport {
  std::string metric, unit;
  std::vector<std::string> by;
  std::vector<Comparison> rows;  // in plan order
  int without_result = 0;        // cells without a result, left out
  int without_partner = 0;       // groups without a base
};

/// The ratio of each group of cells to the group with the base value of the first key. The
/// remaining named keys must be equal; one that the base lacks (dram_gib of a policy without a
/// tier) matches any value. Throws CompareError.
ComparisonReport compare_within(std::span<const ConfiguredCell> cells,
                                const CompareQuestion& question);

/// The axes of these cells, policy first.
std::vector<std::string> axes_to_compare(std::span<const ConfiguredCell> cells);

/// Numbers are rounded to four digits, except in CSV.
Grid to_grid(const ComparisonReport& report, GridFormat format);

}  // namespace analysis
