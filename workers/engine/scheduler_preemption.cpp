// Which requests are preempted when blocks run out, what happens to their KV, and how they resume.
#include <algorithm>
#include <utility>

#include "workers/engine/scheduler.hpp"

namespace engine {

/// Allocates blocks for the request, preempting others if need be. False when the request itself
/// was preempted.
bool Scheduler::grow(Request& request, int num_tokens, StepPlan& plan, Nanos now) {
  while (!may_grow() || !kv_.try_grow(request, num_tokens)) {
    if (release_prefetched(KvReason::pressure_run, now)) continue;
    if (running_.size() == 1 && release_held(nullptr, KvReason::pressure_run, now)) continue;
    if (shrink_suspended(nullptr, now)) continue;
    Request& victim = order_.choose_victim(running_);
    preempt(victim, plan, now);
    if (&victim == &request) return false;
  }
  return true;
}

/// Releases the blocks of a load ahead of its turn. False when there is none.
bool Scheduler::release_prefetched(KvReason pressure, Nanos now) {
  Prefetching* prefetching = tier_.prefetching();
  return prefetching != nullptr && prefetching->give_way(pressure, now);
}

/// With config_.blocks_ahead, a batch of two or more grows only while a block is free.
bool Scheduler::may_grow() const {
  return !config_.blocks_ahead || running_.size() == 1 || kv_.num_free() > 0;
}

void Scheduler::preempt(Request& victim, StepPlan& plan, Nanos now) {
  if (victim.scheduled_in_step == plan.step) withdraw(victim, plan);
  pins_.events().push_back({KvEventKind::preempt, KvReason::out_of_blocks, victim.spec.job,
                            victim.spec.turn, static_cast<int>(victim.blocks.size()),
                            victim.spec.job, victim.spec.turn});
  running_.remove(victim);
  tier_.forget(victim, now);
  victim.computed_before = std::max(victim.computed_before, victim.num_computed);
  victim.preempted_tokens = victim.num_computed;
  victim.status = RequestStatus::preempted;
  ++victim.num_preemptions;
  if (config_.preempt_by_block) {
    suspend(victim);
  } else {
    SwapSpace* swap = tier_.swap_space();
    victim.swapped_out = swap != nullptr && swap->keep_preempted(victim);
    kv_.release(victim);
    victim.num_computed = 0;
  }
  order_.push_preempted(victim);
  pins_.on_preempted(victim);
  plan.preempted.push_back(&victim);
}

/// Suspends a preempted request with all computed blocks, to be evicted block by block.
void Scheduler::suspend(Request& victim) {
  kv_.release_tail(victim, kv_.blocks_for(victim.num_computed));
  victim.swapped_out = !victim.blocks.empty();
  if (victim.swapped_out) suspended_.push_back(victim);
}

/// Offloads the last block of the request that was preempted first, or evicts it where the host
/// has no space. Spares `spared`. False when no suspended request holds a block.
bool Scheduler::shrink_suspended(const Request* spared, Nanos now) {
  Request* victim = suspended_.front();
  if (victim != nullptr && victim == spared) victim = RunningList::next(*victim);
  if (victim == nullptr) return false;
  SwapSpace* swap = tier_.swap_space();
  if (swap == nullptr || !swap->keep_tail(*victim)) tier_.forget(*victim, now);
  const auto left = static_cast<int>(victim->blocks.size()) - 1;
  kv_.release_tail(*victim, left);
  victim->num_computed = std::min(victim->num_computed, left * kv_.block_size());
  if (left == 0) suspended_.remove(*victim);
  took_blocks_ = true;
  return true;
}

/// A request that kept its first blocks resumes with them and with those that the host restores;
/// the others are recomputed.
StopReason Scheduler::try_admit_suspended(Request& request, StepPlan& plan, Nanos now) {
  const HostHit host = tier_.find(request, request.num_computed);
  const int known = request.num_computed + host.tokens;
  const int chunk = wanted(request, known);
  if (!splits_prompts_ && chunk > budget_left(plan)) return StopReason::chunking_off;
  const int num_tokens = std::min(chunk, budget_left(plan));
  const auto kept = static_cast<int>(request.blocks.size());
  const Admission admission =
      kv_.try_admit_loaded(request, host.tokens + num_tokens, reserved_tokens(request));
  if (admission.fit == Fit::sequence_too_long) return StopReason::sequence_reserved;
  if (admission.fit == Fit::out_of_blocks) return StopReason::kv_insufficient;
  suspended_.remove(request);
  request.num_computed = known;
  take_blocks_ahead(request);
  if (host.tokens > 0) tier_.load(request, kept, kv_.blocks_for(known) - kept);
  order_.remove(request);
  pins_.on_admitted(request);
  admit(request, plan, num_tokens, now);
  return StopReason::none;
}

/// Tokens that must fit when the request is admitted: its own, and the watermark for those running.
int Scheduler::reserved_tokens(const Request& request) const {
  if (config_.step_order == StepOrder::fixed_batch) return buffer_tokens(request);
  if (!config_.reserve_full_sequence && !config_.blocks_ahead) return 0;
  const int own = std::min(request.num_tokens(), config_.max_model_len);
  if (running_.empty()) return own;
  // A swapped-out request must get one more block than it had, so that it can continue.
  const bool one_more = config_.blocks_ahead && request.swapped_out;
  const int blocks = one_more ? kv_.blocks_for(own - 1) + 1 : kv_.blocks_for(own);
  return (blocks + config_.watermark_blocks) * kv_.block_size();
}

/// Allocates blocks beyond those that the next step fills, when the configuration asks for it. The
/// caller has checked that they are free.
void Scheduler::take_blocks_ahead(Request& request) {
  if (config_.step_order == StepOrder::fixed_batch) kv_.extend(request, buffer_tokens(request));
  if (config_.blocks_ahead) kv_.extend(request, request.num_tokens());
}

/// Length of the contiguous buffer of a sequence in a fixed batch.
int Scheduler::buffer_tokens(const Request& request) const {
  if (config_.buffer_output_tokens == 0) return config_.max_model_len;
  const int output = std::max(config_.buffer_output_tokens, request.spec.stop.max_tokens);
  return std::min(request.num_prompt() + output, config_.max_model_len);
}

}  // namespace engine
