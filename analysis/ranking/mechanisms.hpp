#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/ranking/policy_rows.hpp"

namespace analysis {

/// The share of the KV pool that pins hold, averaged over time and repeats.
double pinned_share_of(std::span<const ConfiguredCell* const> repeats);

/// "pins no KV", "pins almost no KV (less than 2 % of the pool; tools of 5 s exceed its
/// policy.threshold_s of 2 s)"; empty if it pins some, or has nothing that pins.
std::string idle_pins(const PolicyCells& policy);

/// A line for each mechanism that did nothing, or almost nothing, with the rates at which it did:
/// pins that hold no KV, a host tier in which nothing is found, a pool that never runs short; and
/// for policies with equal results.
std::vector<std::string> idle_mechanisms(std::span<const RateRow> rows);

}  // namespace analysis
