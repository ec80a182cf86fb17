#pragma once
#include <vector>

#include "sweeps/tables/result.hpp"

namespace worker {

/// Turns of which a policy wanted to pin the KV, where pins have a share of the pool: how many were
/// pinned whole (pins_accepted), in part (pins_clipped) and not at all (pins_refused), by the
/// events.
std::vector<sweep::Figure> pin_outcomes(const sweep::Table& kv_events);

}  // namespace worker
