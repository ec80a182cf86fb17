#pragma once
#include <optional>

#include "analysis/compare/estimate.hpp"

namespace analysis {

// A simulated cell as control variate of a measured one: seeds that make the simulated ratio large
// make the measured one large, too. Few measured seeds then tell more, since the simulator gives
// its mean over many seeds.

/// The fewest seeds with a measured and a simulated pair, and with a simulated one alone.
inline constexpr std::size_t kFewestControlled = 3, kFewestControls = 20;
/// From this number of measured seeds on the slope is fitted.
inline constexpr std::size_t kFewestFitted = 6;

/// The measured ratio moved along its slope to the mean of the simulated ratio. The mean is that of
/// the seeds that were only simulated, so that it is independent; the interval includes its
/// variance.
struct Controlled {
  Estimate ratio;            // its repeats: seeds with a measured and a simulated pair
  std::size_t controls = 0;  // seeds that were only simulated
  double slope = 1;          // of the measured log ratio on the simulated one
};

/// Of paired seeds, as by ratio_of(value, base). Below kFewestFitted seeds the slope is 1, since a
/// fitted one would leave Student's t too few degrees of freedom (n - 2). Empty below
/// kFewestControlled or kFewestControls, or if a value is not positive.
std::optional<Controlled> controlled_ratio(const BySeed& value, const BySeed& base,
                                           const BySeed& simulated_value,
                                           const BySeed& simulated_base);

}  // namespace analysis
