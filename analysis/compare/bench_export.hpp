#pragma once
#include <span>

#include "analysis/compare/config.hpp"
#include "analysis/text/json.hpp"

namespace analysis {

/// The turns of a cell as the result of another benchmark, by its definitions (docs/capacity.md):
/// of `aiperf profile` (profile_export_aiperf.json), or of `vllm bench serve`.
Json as_aiperf(const ConfiguredCell& cell, const sweep::Table& turns);
Json as_vllm_bench(const ConfiguredCell& cell, const sweep::Table& turns);

}  // namespace analysis
