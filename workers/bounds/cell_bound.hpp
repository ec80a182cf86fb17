#pragma once
#include <string>

#include "workers/bounds/bounds.hpp"
#include "workers/cell/experiment.hpp"

namespace bounds {

struct CellBound {
  MeanBound mean;
  std::string alone_because;  // why mean.alone_s is the only bound; empty if it is not
};

/// The bound of a cell on sim. Cells of equal bound_key() have the same.
CellBound bound_of(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads);

std::string bound_key(const worker::ExperimentConfig& config);

}  // namespace bounds
