#include "analysis/compare/edges.hpp"

#include <cmath>

#include "analysis/compare/estimate.hpp"

namespace analysis {

double held_percent(const ConfiguredCell& cell, std::size_t repeats,
                    std::span<const Published> coverage) {
  if (repeats < kFewestRepeats || repeats >= kManyRepeats) return sweep::kNotObserved;
  for (const Published& each : coverage) {
    const double percent = each.value(cell, kCoverage);
    if (!std::isnan(percent)) return percent;
  }
  return sweep::kNotObserved;
}

}  // namespace analysis
