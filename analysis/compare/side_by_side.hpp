#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/compare.hpp"

namespace analysis {

/// Cells of different kinds (simulated, of the own engine, of a server) that served the same load,
/// a row each, without ratios: how far a simulation is off is what `fit` says. Rows with equal
/// values of the named keys follow one another, in the order in which they first appear. Throws
/// CompareError when cells served different loads, models or cards that no named key tells.
Grid side_by_side(std::span<const ConfiguredCell> cells, const std::vector<std::string>& by,
                  const std::string& metric, GridFormat format);

}  // namespace analysis
