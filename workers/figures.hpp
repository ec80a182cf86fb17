#pragma once
#include <cstdint>
#include <vector>

#include "sweeps/result.hpp"

namespace worker {

/// What a block of KV is.
struct BlockSize {
  int tokens;
  std::int64_t bytes;
};

/// The summary figures of a cell from its tables: job completion times, latencies, throughput,
/// cache, preemption, copies. docs/archive.md defines them.
std::vector<sweep::Figure> figures_of(const sweep::CellResult& tables, const BlockSize& block);

}  // namespace worker
