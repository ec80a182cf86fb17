#pragma once
#include <cstdint>
#include <vector>

#include "sweeps/tables/result.hpp"

namespace worker {

/// The size of a KV block.
struct BlockSize {
  int tokens;
  std::int64_t bytes;
};

/// The summary figures of a cell from its tables: job completion times, latencies, throughput,
/// cache, preemption, copies. docs/archive.md defines them.
std::vector<sweep::Figure> figures_of(const sweep::CellResult& tables, const BlockSize& block);

}  // namespace worker
