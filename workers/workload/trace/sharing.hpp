#pragma once
#include <vector>

#include "workers/workload/trace/session.hpp"

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

}  // namespace workload
