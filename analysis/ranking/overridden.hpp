#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/ranking/policy_rows.hpp"

namespace analysis {

/// Pools of cards and cost models that the sweep changed, unless an axis shows the change: a reader
/// takes a card for what its profile says. Names of policies show their own changes.
std::vector<std::string> overridden_presets(std::span<const RateRow> rows);

}  // namespace analysis
