#pragma once
#include <iosfwd>
#include <vector>

#include "workers/workload/trace/session.hpp"
#include "workers/workload/trace/working_set.hpp"

namespace workload {

/// Prints what a trace demands: lengths, times, what prompts share by block size, and how much KV
/// the sessions in progress have, over time where the trace says when they began.
void describe_trace(std::ostream& out, const TraceSet& set, const std::vector<int>& block_sizes,
                    const std::vector<KvPool>& pools);

}  // namespace workload
