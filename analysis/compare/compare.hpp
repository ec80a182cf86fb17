#pragma once
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/estimate.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

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

/// Cells with results that differ only in their repeat.
struct RepeatGroup {
  std::vector<std::optional<sweep::Value>> at;  // of each grouping key
  std::vector<std::string> texts;               // key_text of each
  std::vector<const ConfiguredCell*> repeats;
};

/// Groups in plan order. Throws CompareError when cells of a group differ in more than their seed.
std::vector<RepeatGroup> groups_by(std::span<const ConfiguredCell> cells,
                                   const std::vector<std::string>& keys);

/// The difference that best says why two cells cannot be compared, an axis of the sweep before what
/// follows from it: in any key except the seed, the named
/// keys and those that follow from them (CompareQuestion::by). A difference in backend or emulation
/// forbids it even if the key is named.
std::optional<ConfigDifference> first_incomparable(const ConfiguredCell& a, const ConfiguredCell& b,
                                                   const std::vector<std::string>& named);

/// Throws CompareError when first_incomparable() finds a difference.
void require_comparable(const ConfiguredCell& a, const ConfiguredCell& b,
                        const std::vector<std::string>& named);

/// Equal for values that count as equal: 1 and 1.0 have the same text.
std::string key_text(const std::optional<sweep::Value>& value);

/// Where a cell of a server keeps "KEY=VALUE KEY=VALUE", values of the policy inside it.
constexpr const char* kServerPolicyValues = "server.env.KVSWEEP_POLICY_SET";

/// Prints, for every measured cell and the simulated cell with the same axes, both figures and the
/// error of the simulated one, and the mean errors of other figures. Throws CompareError
/// when no cell has the figure.
void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out);

}  // namespace analysis
