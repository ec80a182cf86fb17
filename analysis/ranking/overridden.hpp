#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/ranking/policy_rows.hpp"

namespace analysis {

/// Named policies, cards and cost models that the sweep changed, unless an axis shows the change: a
/// reader takes "continuum" for what its file says. "continuum and pin run with policy.ttl_s=5
/// (kvsweep policies shows them without the change)".
std::vector<std::string> overridden_presets(std::span<const RateRow> rows);

}  // namespace analysis
