#pragma once
#include "workers/experiment.hpp"

namespace worker {

/// How fast the simulator runs a cell: the best of several runs, on one core. Generation of the
/// workload and hashing of the prompts are not in the times.
struct SimSpeed {
  int jobs = 0;
  std::uint64_t steps = 0;
  std::uint64_t scheduled = 0;       // requests scheduled, summed over steps
  std::uint64_t blocks_touched = 0;  // blocks taken, shared, released or registered
  double engine_s = 0;               // scheduler, KV cache and cost model
  double recorded_s = 0;             // the same with every table recorded
};

SimSpeed measure_sim(const ExperimentConfig& config, int repeats);

}  // namespace worker
