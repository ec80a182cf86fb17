#include "workers/cell/demand.hpp"

#include <algorithm>

namespace worker {

Demand demand_of(const workload::Workload& workload) {
  Demand sum;
  for (const workload::Job& job : workload.jobs) {
    int before = 0;
    for (std::size_t i = 0; i < job.turns.size(); ++i) {
      const workload::Turn& turn = job.turns[i];
      const int computed = turn.reused_tokens < 0 ? before : workload::computed_before(job, i);
      sum.prompt += turn.prompt_tokens;
      sum.new_tokens += turn.prompt_tokens - computed;
      sum.output += turn.output_tokens;
      sum.gaps_s += engine::to_seconds(turn.gap);
      sum.turns += 1;
      before = turn.prompt_tokens + turn.output_tokens;
    }
  }
  sum.context = sum.prompt / std::max(1.0, sum.turns);
  return sum;
}

}  // namespace worker
