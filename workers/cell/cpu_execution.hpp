#pragma once
#include <memory>

#include "workers/backends/cpu/cpu_weights.hpp"
#include "workers/cell/execution.hpp"

namespace worker {

/// Loads the weights of a cell, on as many threads as there are cores.
std::shared_ptr<const backends::CpuWeights> load_cpu_weights(const ExperimentConfig& config);

/// Executes the real model on the host, on the wall clock.
std::unique_ptr<Execution> make_cpu_execution(const ExperimentConfig& config,
                                              std::shared_ptr<const backends::CpuWeights> weights);

}  // namespace worker
