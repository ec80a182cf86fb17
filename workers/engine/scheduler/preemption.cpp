// Which blocks are freed when none is left, and what happens to the requests that held them.
#include <algorithm>

#include "workers/engine/scheduler/state.hpp"

namespace engine {
void SchedulerState::preempt(Request& victim, Step& step) {
  withdraw(victim, step.plan);
  pins.record(KvEventKind::preempt, KvReason::out_of_blocks, victim);
  running.remove(victim);
  if (eviction != nullptr) eviction->on_preempted(victim);
  tier.forget(victim, step.now);
  victim.computed_before = std::max(victim.computed_before, victim.num_computed_tokens);
  victim.preempted_tokens = victim.num_computed_tokens;
  victim.status = RequestStatus::preempted;
  ++victim.num_preemptions;
  if (config.preempt_by_block) {
    suspend(victim);
  } else {
    SwapSpace* swap = tier.swap_space();
    victim.swapped_out = swap != nullptr && swap->keep_preempted(victim);
    free_blocks(victim);
    victim.num_computed_tokens = 0;
  }
  order.push_preempted(victim);
  pins.on_preempted(victim);
  step.plan.preempted.push_back(&victim);
}

/// Suspends a preempted request with all computed blocks, to be evicted block by block.
void SchedulerState::suspend(Request& victim) {
  kv.release_tail(victim, kv.blocks_for(victim.num_computed_tokens));
  victim.swapped_out = !victim.blocks.empty();
  if (victim.swapped_out) suspended.push_back(victim);
}

void SchedulerState::withdraw(Request& request, StepPlan& plan) {
  if (request.scheduled_in_step != plan.step) return;
  const auto entry = std::ranges::find(plan.scheduled, &request, &ScheduledRequest::request);
  plan.total_tokens -= entry->num_tokens;
  request.tokens_in_flight -= entry->samples ? 1 : 0;
  plan.scheduled.erase(entry);
  request.scheduled_in_step = 0;
  kv.forget_uncomputed(request);
}

bool SchedulerState::release_prefetched(KvReason pressure, Nanos now) {
  Connector* connector = tier.connector();
  return connector != nullptr && connector->release_prefetched(pressure, now);
}

bool SchedulerState::shrink_suspended(const Request* spared, Nanos now) {
  Request* victim = suspended.front();
  if (victim != nullptr && victim == spared) victim = RunningList::next(*victim);
  if (victim == nullptr) return false;
  SwapSpace* swap = tier.swap_space();
  if (swap == nullptr || !swap->keep_tail(*victim)) tier.forget(*victim, now);
  const auto left = static_cast<int>(victim->blocks.size()) - 1;
  kv.release_tail(*victim, left);
  victim->num_computed_tokens = std::min(victim->num_computed_tokens, left * kv.block_size());
  if (left == 0) suspended.remove(*victim);
  return true;
}

}  // namespace engine
