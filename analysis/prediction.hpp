#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/compare_config.hpp"

namespace analysis {

/// Prints, for every measured cell that a simulated one has the axes of, both figures and how far
/// the simulated one is off. Throws std::invalid_argument when no cell has the figure.
void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out);

}  // namespace analysis
