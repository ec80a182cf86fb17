#pragma once
#include "workers/cell/experiment.hpp"

namespace worker {

/// The cell's policy with all that it may know: gaps, work and contexts of the workload, for
/// oracles and hints, and the card's time to recompute evicted KV, by its cost model. Borrows the
/// workload.
policies::PolicyConfig with_knowledge(const ExperimentConfig& config,
                                      const workload::Workload& workload);

/// Time of the card's host link to load one KV block.
engine::Nanos block_load_time(const ExperimentConfig& config);

}  // namespace worker
