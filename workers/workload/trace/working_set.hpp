#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/workload/trace/session.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// What a cache that never forgets finds of each prompt, when turns are served one after the other
/// in the order of the trace. `block_size`: tokens of the blocks that are cached; at least one
/// token of a prompt is always computed.
struct TurnSharing {
  int from_session = 0;  // leading tokens that turns of the same session have had
  int from_all = 0;      // that turns of any session have had
};
std::vector<std::vector<TurnSharing>> ideal_sharing(const TraceSet& set, int block_size);

/// The same over all turns, in the blocks of the trace, whose last one may be incomplete: the
/// figures that authors of traces publish.
struct PublishedSharing {
  double tokens = 0;               // share of prompt tokens
  double blocks = 0;               // share of blocks that have an id; 0 without ids
  std::vector<double> by_session;  // share of each session's prompt tokens, of its own turns alone
};
PublishedSharing published_sharing(const TraceSet& set);

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

/// Prints the working set beside each pool, as a table and as a picture.
void print(std::ostream& out, const std::vector<WorkingSet>& sets,
           const std::vector<KvPool>& pools);

}  // namespace workload
