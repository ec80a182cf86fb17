#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/arrangement.hpp"

namespace analysis {

/// A line for each mechanism that did nothing, or almost nothing, with the rates at which it did:
/// pins that hold no KV, a host tier in which nothing is found, a pool that never runs short; and
/// for policies with equal results.
std::vector<std::string> idle_mechanisms(std::span<const RateRow> rows);

}  // namespace analysis
