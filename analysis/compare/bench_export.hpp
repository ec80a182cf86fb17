#pragma once
#include <span>

#include "analysis/compare/config.hpp"
#include "analysis/text/json_line.hpp"

namespace analysis {

/// The turns of a cell as the result of another benchmark, by its definitions (docs/capacity.md):
/// of `aiperf profile` (profile_export_aiperf.json), or of `vllm bench serve`.
void add_aiperf(JsonLine& json, const ConfiguredCell& cell, const sweep::Table& turns);
void add_vllm_bench(JsonLine& json, const ConfiguredCell& cell, const sweep::Table& turns);

}  // namespace analysis
