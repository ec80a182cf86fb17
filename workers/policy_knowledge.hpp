#pragma once
#include "workers/experiment.hpp"

namespace worker {

/// The cell's policy with all that it may know: the gaps of the workload, for oracles and hints,
/// and what the card takes to compute lost KV again, by its cost model. Borrows the workload.
policies::PolicyConfig with_knowledge(const ExperimentConfig& config,
                                      const workload::Workload& workload);

/// How long the card's host link works for one KV block, on its way to the device.
engine::Nanos block_load_time(const ExperimentConfig& config);

}  // namespace worker
