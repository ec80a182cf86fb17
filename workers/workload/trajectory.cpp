#include "workers/workload/trajectory.hpp"

#include <algorithm>

namespace workload {

int computed_before(const Job& job, std::size_t turn) {
  if (turn == 0) return 0;
  const Turn& before = job.turns[turn - 1];
  const int reused = job.turns[turn].reused_tokens;
  const int computed = before.prompt_tokens + before.output_tokens - 1;
  return reused >= 0 ? std::min(reused, computed) : computed;
}

int longest_turn(const Job& job) {
  int longest = 0;
  for (const Turn& turn : job.turns)
    longest = std::max(longest, turn.prompt_tokens + turn.output_tokens);
  return longest;
}

}  // namespace workload
