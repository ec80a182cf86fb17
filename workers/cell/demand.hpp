#pragma once
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Sums over all turns of a workload, tokens.
struct Demand {
  double prompt = 0;      // prefilled tokens if nothing is reused
  double new_tokens = 0;  // prefilled tokens if everything is reused
  double output = 0;
  double context = 0;  // mean over turns
  double gaps_s = 0;
  double turns = 0;
};
Demand demand_of(const workload::Workload& workload);

}  // namespace worker
