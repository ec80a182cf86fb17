#include "workers/engine/scheduler/scheduler.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace engine {
namespace {

std::unique_ptr<V1Batching> make_batching(SchedulerState& state) {
  if (state.config.batching == Batching::fixed) return make_fixed_batching(state);
  if (state.config.is_vllm_042()) return make_vllm_042_batching(state);
  return std::make_unique<V1Batching>(state);
}

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
  const Nanos again = duration * share.recomputed / share.num_tokens;
  request.recomputed_tokens += share.recomputed;
  request.time.recompute += again;
  request.time.prefill += duration - again;
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config, KvCache& kv, QueueOrder& order, Pins& pins,
                     HostTier& tier, EvictionOrder* eviction)
    : state_{config, kv, order, pins, tier, eviction}, batching_(make_batching(state_)) {}

bool Scheduler::idle() const {
  return state_.running.empty() && state_.loading.empty() && state_.order.size() == 0;
}

int Scheduler::unwritten_slots() const {
  int slots = batching_->ended().unwritten_slots;
  for (const Request* r = state_.running.front(); r != nullptr; r = RunningList::next(*r))
    slots += static_cast<int>(r->blocks.size()) * state_.kv.block_size() - r->num_computed_tokens;
  return slots;
}

void Scheduler::submit(Request& request) {
  state_.order.push(request);
  state_.pins.on_arrival(request);
  if (state_.eviction != nullptr) state_.eviction->on_arrival(request);
}

void Scheduler::schedule(StepPlan& plan, Nanos now) {
  plan.step = ++step_;
  if (state_.eviction != nullptr) state_.eviction->begin_step(now);
  state_.order.begin_step(now, state_.kv.prefix_cache());
  plan.scheduled.clear();
  plan.preempted.clear();
  plan.deferred.clear();
  plan.total_tokens = 0;
  plan.stop = StopReason::none;
  plan.token_budget = state_.config.max_num_batched_tokens;
  Step step{plan, now, state_.config.chunked_prefill, prefill_threshold()};
  batching_->fill(step);
  if (Connector* connector = state_.tier.connector()) connector->on_scheduled(plan, now);
  commit(plan);
}

/// Most tokens of one prefill in this step. No request waits behind the prefill of one that is
/// alone.
int Scheduler::prefill_threshold() const {
  const SchedulerConfig& config = state_.config;
  const int threshold = config.long_prefill_token_threshold;
  if (threshold == 0 || config.version != Version::v0_33) return threshold;
  const auto requests =
      static_cast<int>(state_.running.size() + state_.loading.size()) + state_.order.size();
  if (requests <= 1) return 0;
  if (!config.adaptive_prefill_threshold) return threshold;
  return std::max(threshold, config.max_num_batched_tokens / requests);
}

void Scheduler::commit(StepPlan& plan) {
  state_.launched += plan.scheduled.empty() ? 0 : 1;
  assert(plan.total_tokens <= plan.token_budget);
  assert(static_cast<int>(state_.running.size()) <= state_.config.max_num_seqs);
  for (const ScheduledRequest& share : plan.scheduled) {
    Request& request = *share.request;
    request.num_computed_tokens += share.num_tokens;
    request.in_batch = state_.launched;
    request.prefilling = !share.samples;
    assert(static_cast<int>(request.blocks.size()) >=
           state_.kv.blocks_for(request.num_computed_tokens));
    assert(request.num_computed_tokens <= request.expected_tokens());
  }
}

void Scheduler::apply(const StepPlan& plan, const StepResult& result, Nanos start, Nanos end,
                      std::vector<Request*>& finished, Nanos stall) {
  if (!plan.scheduled.empty()) state_.on_applied();
  batching_->on_computed(plan, end - start - stall);
  std::size_t sample = 0;
  for (const ScheduledRequest& share : plan.scheduled) {
    Request& request = *share.request;
    if (request.ended()) {
      sample += share.samples ? 1 : 0;
      continue;
    }
    account(request, share, start, end, stall);
    if (!share.samples) continue;
    const auto position = request.outputs.size();
    const bool forced = position < request.spec.forced.size();
    const TokenId token = forced ? request.spec.forced[position] : result.sampled[sample];
    ++sample;
    if (position == 0) request.first_token = end;
    --request.tokens_in_flight;
    const bool ends =
        append_output(request, token, state_.config.max_model_len, state_.kv.block_size());
    // The tokens of a step behind another in flight were not known when it was scheduled.
    const bool unregistered = share.in_flight > 0 && request.status == RequestStatus::running;
    if (unregistered) state_.kv.register_applied(request);
    if (!ends) continue;
    finish(request, end);
    finished.push_back(&request);
  }
}

void Scheduler::finish(Request& request, Nanos now) {
  if (request.status == RequestStatus::running) {
    state_.running.remove(request);
  } else {
    state_.leave_queue(request);
    state_.pins.on_ended_waiting(request);
  }
  request.status = RequestStatus::finished;
  batching_->on_finish(request);
  state_.tier.on_turn_finish(request, now);
  if (state_.eviction != nullptr) state_.eviction->on_turn_finish(request, now);
  std::vector<BlockId> late;
  const bool fenced = state_.fenced(request);
  state_.pins.on_turn_finish(request, now, state_.tier.swap_space(), fenced ? &late : nullptr);
  if (!late.empty()) state_.late.push_back({state_.launched, std::move(late)});
  state_.order.on_turn_end(request, now);
}

}  // namespace engine
