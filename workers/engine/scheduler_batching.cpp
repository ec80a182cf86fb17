// Batching strategies: which requests a step computes, and in which order.
#include "workers/engine/scheduler.hpp"

namespace engine {

void Scheduler::schedule_running_first(StepPlan& plan, Nanos now) {
  schedule_running(plan, now);
  if (!plan.preempted.empty() || took_blocks_) {
    plan.stop = StopReason::preempted;
  } else {
    admit_waiting(plan, now);
  }
}

/// While requests are swapped out no new one is admitted; they resume beside the running ones.
void Scheduler::schedule_prefill_first(StepPlan& plan, Nanos now) {
  if (!swapped_out_waits()) admit_waiting(plan, now);
  if (!plan.scheduled.empty()) return;
  const StopReason stop = plan.stop;
  schedule_running(plan, now);
  const bool preempts = !plan.preempted.empty() || took_blocks_;
  plan.stop = preempts ? StopReason::preempted : stop;
  if (!preempts && swapped_out_waits()) admit_waiting(plan, now, true);
}

bool Scheduler::swapped_out_waits() const {
  const Request* head = order_.front();
  return head != nullptr && head->swapped_out;
}

/// A batch admits all waiting requests, over as many steps as their prompts need, and is closed
/// until its last sequence has ended. Until then the blocks of all its sequences stay allocated.
void Scheduler::schedule_fixed_batch(StepPlan& plan, Nanos now) {
  if (running_.empty()) {
    kv_.release(ended_in_batch_);
    ended_in_batch_.clear();
    unwritten_in_ended_ = 0;
    kv_.restore_order();
    batch_open_ = true;
  }
  if (batch_open_) {
    admit_waiting(plan, now);
    batch_open_ = plan.stop == StopReason::token_budget || plan.stop == StopReason::chunking_off;
  }
  if (plan.scheduled.empty()) schedule_running(plan, now);
}

/// Keeps the blocks of an ended sequence allocated until the end of its batch.
void Scheduler::end_in_batch(Request& request) {
  const std::vector<BlockId> blocks = kv_.hand_over(request);
  ended_in_batch_.insert(ended_in_batch_.end(), blocks.begin(), blocks.end());
  unwritten_in_ended_ += static_cast<int>(blocks.size()) * kv_.block_size() - request.num_computed;
}

int Scheduler::unwritten_slots() const {
  int slots = unwritten_in_ended_;
  for (const Request* r = running_.front(); r != nullptr; r = RunningList::next(*r))
    slots += static_cast<int>(r->blocks.size()) * kv_.block_size() - r->num_computed;
  return slots;
}

/// Whether the running prompts and the prompt at the head of the queue, computed whole, would take
/// longer than the step's decodes, estimated from the steps seen. True when the step has no
/// decodes, or while no step of decodes alone has been seen.
bool Scheduler::prefill_dominates() const {
  int prompts = 0;
  bool decodes = false;
  for (const Request* r = running_.front(); r != nullptr; r = RunningList::next(*r)) {
    decodes = decodes || r->decoding();
    if (!r->decoding()) prompts += wanted(*r, r->num_computed);
  }
  const Request* head = order_.front();
  if (head != nullptr && !head->swapped_out) prompts += wanted(*head, head->num_computed);
  if (prompts == 0) return false;
  return !decodes || !rates_.knows_decodes() || rates_.prompt_s(prompts) > rates_.decode_s();
}

}  // namespace engine
