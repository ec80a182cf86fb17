#pragma once
#include <span>
#include <vector>

#include "analysis/claims/claims.hpp"

namespace analysis {

/// Marks rows that compare mean completion times of cells on an edge, whose intervals hold less
/// often than they say: held_percent(). A verdict that an interval twice as wide would not give
/// becomes undecided. Directions stay.
void mark_edges(std::vector<ClaimRow>& rows, std::span<const ConfiguredCell> cells,
                std::span<const Published> coverage);

}  // namespace analysis
