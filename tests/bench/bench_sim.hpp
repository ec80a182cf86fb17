#pragma once
#include <cstdint>

#include "workers/cell/experiment.hpp"

namespace worker {

/// Speed of the simulator on a cell: the best of several runs, on one core. Times exclude the
/// generation of the workload and the hashing of the prompts.
struct SimSpeed {
  int jobs = 0;
  std::uint64_t steps = 0;
  std::uint64_t scheduled = 0;       // requests scheduled, summed over steps
  std::uint64_t blocks_touched = 0;  // blocks allocated, shared, released or registered
  double engine_s = 0;               // scheduler, KV cache and cost model
  double recorded_s = 0;             // the same with every table recorded
};

SimSpeed measure_sim(const ExperimentConfig& config, int repeats);

}  // namespace worker
