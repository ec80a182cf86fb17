#pragma once
#include <memory>

#include "workers/backends/cpu/cpu_weights.hpp"
#include "workers/execution.hpp"

namespace worker {

/// The weights of a cell, on as many threads as there are cores.
std::shared_ptr<const backends::CpuWeights> load_cpu_weights(const ExperimentConfig& config);

/// The real model on the host, by the wall clock.
std::unique_ptr<Execution> make_cpu_execution(const ExperimentConfig& config,
                                              std::shared_ptr<const backends::CpuWeights> weights);

}  // namespace worker
