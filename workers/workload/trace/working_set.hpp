#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// A pool of KV blocks that a workload is compared with.
struct KvPool {
  std::string name;
  double tokens = 0;
};

/// Programs in progress, and the tokens of their agents' latest turns, in a part of the time.
struct WorkingSet {
  double from_s = 0;
  int programs = 0;   // most at a time
  double tokens = 0;  // most at a time
};

/// The working set over time, were every turn served at once, and each token of its answer took
/// `token_time`. An agent counts from its first turn to its last. `arrivals` and `most_live`: as
/// the client plays them.
std::vector<WorkingSet> working_set(const Workload& workload,
                                    std::span<const engine::Nanos> arrivals, int most_live,
                                    engine::Nanos token_time, int parts);

/// Prints the working set beside each pool.
void print(std::ostream& out, const std::vector<WorkingSet>& sets,
           const std::vector<KvPool>& pools);

}  // namespace workload
