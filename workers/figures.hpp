#pragma once
#include <vector>

#include "sweeps/result.hpp"

namespace worker {

/// The summary figures of a cell from its tables: job completion times, latencies, throughput,
/// cache and preemption.
std::vector<sweep::Figure> figures_of(const sweep::CellResult& tables, int block_size);

}  // namespace worker
