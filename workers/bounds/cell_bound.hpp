#pragma once
#include <string>

#include "workers/bounds/bounds.hpp"
#include "workers/bounds/cache_bounds.hpp"
#include "workers/cell/experiment.hpp"

namespace bounds {

struct CellBound {
  MeanBound mean;
  std::string alone_because;  // why mean.alone_s is the only bound; empty if it is not
};

/// The bound of a cell on sim. Cells of equal bound_key() have the same.
CellBound bound_of(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads);

/// Bound of any cell with this workload, on this block size and kind of tier.
HitBound most_hits_of(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads);

/// Cells of equal bound_key() have the same.
TurnBlocks turn_blocks_of(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads);

/// KV blocks on GPU and host together.
std::int64_t block_capacity(const worker::ExperimentConfig& config);

std::string bound_key(const worker::ExperimentConfig& config);

}  // namespace bounds
