#include "workers/engine/scheduler.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace engine {

Scheduler::Scheduler(const SchedulerConfig& config, KvCache& kv, QueueOrder& order, Pins& pins,
                     HostTier& tier)
    : config_(config), kv_(kv), order_(order), pins_(pins), tier_(tier) {}

void Scheduler::submit(Request& request) {
  order_.push(request);
  pins_.on_arrival(request);
}

void Scheduler::abort(Request& request, Nanos now) {
  tier_.forget(request, now);
  pins_.on_aborted(request);
  leave(request);
  kv_.release(request);
  request.status = RequestStatus::aborted;
  request.finish = FinishReason::abort;
}

/// Removes the request from the list that it is in.
void Scheduler::leave(Request& request) {
  switch (request.status) {
    case RequestStatus::running:
      running_.remove(request);
      break;
    case RequestStatus::loading:
      loading_.remove(request);
      break;
    case RequestStatus::loaded:
      loaded_.remove(request);
      order_.remove(request);
      break;
    default:
      if (!request.blocks.empty()) suspended_.remove(request);
      order_.remove(request);
  }
}

void Scheduler::schedule(StepPlan& plan, Nanos now) {
  ++plan.step;
  plan.scheduled.clear();
  plan.preempted.clear();
  plan.total_tokens = 0;
  plan.stop = StopReason::none;
  splits_prompts_ = config_.chunked_prefill && (!config_.adaptive_chunking || prefill_dominates());
  const bool chunks = splits_prompts_ && config_.chunk_tokens > 0;
  plan.token_budget = chunks ? config_.chunk_tokens : config_.max_num_batched_tokens;
  switch (config_.step_order) {
    case StepOrder::running_first:
      schedule_running_first(plan, now);
      break;
    case StepOrder::prefill_first:
      schedule_prefill_first(plan, now);
      break;
    case StepOrder::fixed_batch:
      schedule_fixed_batch(plan, now);
      break;
  }
  commit(plan);
}

/// Tokens that the request would compute in this step from position `first_token` on without a
/// token budget.
int Scheduler::wanted(const Request& request, int first_token) const {
  const int left = request.num_tokens() - first_token;
  const int threshold = config_.long_prefill_token_threshold;
  return threshold > 0 ? std::min(left, threshold) : left;
}

void Scheduler::schedule_running(StepPlan& plan, Nanos now) {
  took_blocks_ = false;
  Request* request = running_.front();
  while (request != nullptr && budget_left(plan) > 0) {
    const int num_tokens = std::min({wanted(*request, request->num_computed), budget_left(plan),
                                     config_.max_model_len - 1 - request->num_computed});
    if (num_tokens > 0) {
      const auto blocks_before = request->blocks.size();
      if (!grow(*request, num_tokens, plan, now)) return;
      add_to_plan(plan, *request, ScheduleKind::running, num_tokens,
                  static_cast<int>(request->blocks.size() - blocks_before));
    }
    request = RunningList::next(*request);
  }
}

/// Removes a request from the step: returns its share of the token budget, and unregisters the
/// blocks that it was going to fill.
void Scheduler::withdraw(Request& request, StepPlan& plan) {
  const auto entry = std::ranges::find(plan.scheduled, &request, &ScheduledRequest::request);
  assert(entry != plan.scheduled.end());
  plan.total_tokens -= entry->num_tokens;
  plan.scheduled.erase(entry);
  request.scheduled_in_step = 0;
  kv_.forget_uncomputed(request);
}

void Scheduler::admit_waiting(StepPlan& plan, Nanos now, bool swapped_out_only) {
  while (Request* head = order_.front()) {
    if (swapped_out_only && !head->swapped_out) return;
    if (budget_left(plan) == 0) {
      plan.stop = StopReason::token_budget;
      return;
    }
    if (static_cast<int>(running_.size()) == config_.max_num_seqs) {
      plan.stop = StopReason::max_seqs;
      return;
    }
    plan.stop = try_admit(*head, plan, now);
    if (plan.stop == StopReason::none) continue;
    // With nothing running, only pins and blocks held with loaded KV can be in the way. Progress
    // comes before promises.
    const bool stuck = running_.empty() && plan.stop != StopReason::chunking_off;
    if (!stuck || !release_held(head, KvReason::pressure_admit, now)) return;
  }
  if (order_.held_back() > 0) plan.stop = StopReason::active_programs;
}

/// Admits the head of the queue, starts to load its KV, or returns the reason to stop, having
/// changed nothing.
StopReason Scheduler::try_admit(Request& request, StepPlan& plan, Nanos now) {
  if (request.status == RequestStatus::loaded) return try_admit_loaded(request, plan, now);
  if (!request.blocks.empty()) return try_admit_suspended(request, plan, now);
  if (still_blocked(request)) return StopReason::sequence_reserved;
  const auto hits = kv_.find_prefix(request);
  const auto num_hits = static_cast<int>(hits.size());
  const int on_gpu = num_hits * kv_.block_size();
  const HostHit host = request.no_more_loads ? HostHit{} : tier_.find(request, on_gpu);
  if (host.coming) return await_copy(request, now);
  if (host.tokens > 0 && !host.blocking) return start_load(request, hits, host.tokens, now);
  const int chunk = wanted(request, on_gpu + host.tokens);
  if (!splits_prompts_ && chunk > budget_left(plan)) return StopReason::chunking_off;
  const int num_tokens = std::min(chunk, budget_left(plan));
  const Admission admission =
      kv_.try_admit(request, hits, host.tokens + num_tokens, reserved_tokens(request));
  if (admission.fit != Fit::ok) return refusal(request, admission);
  request.num_computed = on_gpu + host.tokens;
  take_blocks_ahead(request);
  if (host.tokens > 0)
    tier_.load(request, num_hits, kv_.blocks_for(request.num_computed) - num_hits);
  record_hits(request, on_gpu, host.tokens);
  order_.remove(request);
  pins_.on_admitted(request);
  admit(request, plan, num_tokens, now);
  return StopReason::none;
}

StopReason Scheduler::refusal(const Request& request, const Admission& admission) {
  if (admission.fit == Fit::out_of_blocks) return StopReason::kv_insufficient;
  blocked_ = {&request, request.id,
              kv_.num_changes() + static_cast<std::uint64_t>(admission.missing_blocks)};
  return StopReason::sequence_reserved;
}

/// Moves a request that has its blocks into the running set and into the step.
void Scheduler::admit(Request& request, StepPlan& plan, int num_tokens, Nanos now) {
  const bool fresh = request.num_preemptions == 0;
  running_.push_back(request);
  request.status = RequestStatus::running;
  request.no_more_loads = false;
  request.swapped_out = false;
  if (request.admitted < Nanos{0}) request.admitted = now;
  add_to_plan(plan, request, fresh ? ScheduleKind::fresh : ScheduleKind::resumed, num_tokens,
              static_cast<int>(request.blocks.size()));
}

/// Whether an earlier refusal of this request, for lack of room for its whole sequence, must still
/// hold.
bool Scheduler::still_blocked(const Request& request) const {
  // The watermark does not apply to a request that would run alone.
  if (config_.watermark_blocks > 0 && running_.empty()) return false;
  return splits_prompts_ && blocked_.request == &request && blocked_.id == request.id &&
         kv_.num_changes() < blocked_.until_change;
}

void Scheduler::add_to_plan(StepPlan& plan, Request& request, ScheduleKind kind, int num_tokens,
                            int num_new_blocks) {
  const int known = request.num_tokens();
  plan.scheduled.push_back({.request = &request,
                            .kind = kind,
                            .num_tokens = num_tokens,
                            .computed_before = request.num_computed,
                            .num_new_blocks = num_new_blocks,
                            .samples = request.num_computed + num_tokens == known,
                            .decode = kind == ScheduleKind::running && request.decoding()});
  plan.total_tokens += num_tokens;
  request.scheduled_in_step = plan.step;
}

void Scheduler::commit(StepPlan& plan) {
  assert(plan.total_tokens <= plan.token_budget);
  assert(static_cast<int>(running_.size()) <= config_.max_num_seqs);
  for (const ScheduledRequest& share : plan.scheduled) {
    Request& request = *share.request;
    request.num_computed += share.num_tokens;
    assert(static_cast<int>(request.blocks.size()) == kv_.blocks_for(request.num_computed) ||
           (takes_blocks_ahead() &&
            static_cast<int>(request.blocks.size()) > kv_.blocks_for(request.num_computed)));
    assert(request.num_computed <= request.num_tokens());
  }
}

namespace {

/// Adds the step to the request's time split.
void account(Request& request, const ScheduledRequest& share, Nanos start, Nanos end, Nanos stall) {
  const Nanos duration = end - start - stall;
  request.time.queue += start - request.last_seen;
  request.time.load_stall += stall;
  request.last_seen = end;
  if (share.decode) {
    request.time.decode += duration;
    return;
  }
  const int lost = std::clamp(request.computed_before - share.computed_before, 0, share.num_tokens);
  const Nanos again = duration * lost / share.num_tokens;
  request.recomputed_tokens += lost;
  request.time.recompute += again;
  request.time.prefill += duration - again;
}

}  // namespace

void Scheduler::apply(const StepPlan& plan, const StepResult& result, Nanos start, Nanos end,
                      std::vector<Request*>& finished, Nanos stall) {
  if (config_.adaptive_chunking) rates_.computed(plan, end - start - stall);
  std::size_t sample = 0;
  for (const ScheduledRequest& share : plan.scheduled) {
    Request& request = *share.request;
    account(request, share, start, end, stall);
    if (!share.samples) continue;
    const auto position = request.outputs.size();
    const bool forced = position < request.spec.forced.size();
    const TokenId token = forced ? request.spec.forced[position] : result.sampled[sample];
    ++sample;
    if (position == 0) request.first_token = end;
    const FinishReason reason =
        append_outputs(request, {&token, 1}, config_.max_model_len, kv_.block_size());
    if (reason == FinishReason::none) continue;
    finish(request, reason, end);
    finished.push_back(&request);
  }
}

void Scheduler::finish(Request& request, FinishReason reason, Nanos now) {
  request.status = RequestStatus::finished;
  request.finish = reason;
  running_.remove(request);
  if (config_.step_order == StepOrder::fixed_batch) end_in_batch(request);
  tier_.on_turn_finish(request, now);
  pins_.on_turn_finish(request, now, tier_.swap_space());
}

}  // namespace engine
