#pragma once
#include <span>
#include <vector>

#include "analysis/claims/claims.hpp"

namespace analysis {

/// Makes rows undecided which compare mean completion times of cells on an edge, whose intervals
/// hold less often than they say: held_percent(). Their directions stay.
void mark_edges(std::vector<ClaimRow>& rows, std::span<const ConfiguredCell> cells,
                std::span<const Published> coverage);

}  // namespace analysis
