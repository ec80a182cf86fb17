#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "analysis/compare/config.hpp"
#include "analysis/digest/statistics.hpp"

namespace analysis {

// Numbers over the repeats of a cell, and how sure they are. A seed draws the arrivals (and, with
// generated agents, which jobs there are); on hardware a repeat is also another run of the machine.
// Intervals are 95 %, Student's t, not adjusted for the number of comparisons. Fewer than three
// repeats have none.

/// The fewest repeats that have an interval.
inline constexpr std::size_t kFewestRepeats = 3;

/// How many seeds the next round of a search has, after one with `seeds` of at most `most`: 3, 5,
/// 7, 10, 15, ...
int seeds_of_next_round(int seeds, int most);

using BySeed = std::map<std::int64_t, double>;

/// The figure of each repeat that has it.
BySeed by_seed(std::span<const ConfiguredCell* const> repeats, std::string_view figure);

/// "3.9 .. 4.1", or "-" of NaN.
std::string interval_text(const Interval& interval);

/// NaN without values; an interval of NaN below three.
struct Estimate {
  double value = sweep::kNotObserved;
  Interval interval{sweep::kNotObserved, sweep::kNotObserved};
  std::size_t repeats = 0;
};

/// The mean over the seeds.
Estimate mean_of(const BySeed& values);

/// `value` over `base`. Repeats with equal seeds are pairs, since their jobs arrive at the same
/// times; the others do not count. Without a common seed the two sides are independent samples.
struct Ratio : Estimate {
  bool paired = true;
  int sign = 0;                    // of `value` - `base`
  double p = sweep::kNotObserved;  // of no difference, two-sided; NaN below three repeats
};

/// Pairs give the geometric mean of their ratios, independent samples the ratio of their geometric
/// means, with the degrees of freedom of the smaller sample. If a value is not positive,
/// as counts may be, the ratio of the means: 1 if both are 0, infinite if only the base is; the
/// interval of pairs is then that of its linearization, and p that of their differences. NaN
/// without values.
Ratio ratio_of(const BySeed& value, const BySeed& base);

/// Whether a lower or a higher value of a figure is better.
enum class Direction : std::uint8_t { lower, higher, neither };
Direction direction_of(std::string_view figure);

}  // namespace analysis
