#pragma once
#include <iosfwd>
#include <span>

#include "analysis/compare/config.hpp"

namespace analysis {

/// Prints a row per cell: index in the plan, policy, jps and the axes that vary, then the main
/// figures. Status and reason are shown if some cell is not ok. With repeats, a second table has
/// the means over the repeats that are ok. Excluded cells are in neither table: a line for each
/// reason counts them.
void print_summary(std::span<const ConfiguredCell> cells, std::ostream& out);

}  // namespace analysis
