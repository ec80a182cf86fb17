#pragma once
#include "workers/experiment.hpp"

namespace worker {

/// What a cell is expected to take before it has run, from its cost model and the sizes of its
/// turns. Good for ordering and for planning an allocation, not for results.
struct CellEstimate {
  double served_s = 0;  // on the cell's clock: first arrival to last token
  double steps = 0;     // engine steps in that time
};

CellEstimate estimate_cell(const ExperimentConfig& config, WorkloadCache& workloads);

/// Seconds that a worker is busy with the cell: `served_s` on the wall clock, or the simulator's
/// time for the steps.
double busy_seconds(const ExperimentConfig& config, const CellEstimate& estimate);

}  // namespace worker
