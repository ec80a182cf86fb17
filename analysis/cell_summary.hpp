#pragma once
#include <iosfwd>
#include <span>

#include "analysis/cell_report.hpp"

namespace analysis {

/// Prints a row per cell: its place in the plan, policy, jps and the axes that vary, then the main
/// figures. Status and reason appear when a cell is not ok. Where cells are repeated, the means
/// over the repeats that are ok follow in a second table. Excluded cells are in neither: a line for
/// each reason counts them.
void print_summary(std::span<const CellReport> cells, std::ostream& out);

}  // namespace analysis
