#pragma once
#include <optional>
#include <vector>

#include "workers/workload/trajectory.hpp"

namespace bounds {

/// What a turn needs whatever the policy, in tokens and seconds.
struct TurnNeed {
  int prompt = 0;
  int output = 1;
  /// Tokens at the end of the prompt that no cache can have: neither an earlier turn of the job nor
  /// any other job computes their blocks. At least 1.
  int fresh = 1;
  int unshared = 0;  // tokens of the prompt in blocks that no other job has
  /// Before the next turn: after the end of this one, or after its start.
  double gap_s = 0;
  std::optional<double> since_start_s;
};

/// A job as the client measures it: one turn after the other, from its arrival to its last token.
/// The root's turns alone where a program has subagents; they may wait for subagents, too.
using JobNeed = std::vector<TurnNeed>;

/// By program.
std::vector<JobNeed> needs_of(const workload::Workload& workload, int block_size);

}  // namespace bounds
