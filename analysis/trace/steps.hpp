#pragma once
#include <iosfwd>

#include "sweeps/tables/result.hpp"

namespace analysis {

/// The JSON lines (jsonl.hpp) of each step: a step_snapshot, a prefix_cache_lookup for each request
/// scheduled for the first time, and a step_decision.
///
/// theoretical_hit is the KV that the preceding turn left: its prompt and output minus the last
/// token, which is never computed, in whole blocks, at most the blocks of the prompt minus one
/// token; null without a block size. miss_cause tells why the hit was smaller: "evicted_gpu" or
/// "evicted_dram" if the job lost blocks since then, "none" if nothing is missing, otherwise null.
void write_steps(const sweep::CellResult& result, std::ostream& out);

}  // namespace analysis
