#include "workers/engine/scheduler/v1.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace engine {

void V1Batching::fill(Step& step) {
  schedule_running(step);
  if (step.out_of_blocks) {
    step.plan.stop = StopReason::preempted;
  } else {
    admit_waiting(step);
  }
}

/// Every running request computes what it can, in order of admission, as far as the budget goes.
void V1Batching::schedule_running(Step& step) {
  Request* request = state_.running.front();
  while (request != nullptr && step.budget_left() > 0) {
    const int num_tokens =
        std::min({wanted(*request, request->num_computed_tokens, step), step.budget_left(),
                  state_.config.max_model_len - 1 - request->num_computed_tokens});
    if (num_tokens > 0 && !ends_in_flight(*request)) {
      const auto blocks_before = request->blocks.size();
      Request* after = nullptr;
      if (!grow(*request, num_tokens, step, after)) {
        request = after;
        continue;
      }
      step.add(*request, SchedKind::running, num_tokens,
               static_cast<int>(request->blocks.size() - blocks_before));
    }
    request = RunningList::next(*request);
  }
}

/// Whether a token in flight is the last one by max_tokens: nothing is left to compute.
bool V1Batching::ends_in_flight(const Request& request) {
  const int in_flight = request.tokens_in_flight;
  return in_flight > 0 && request.num_computed_tokens + 2 - in_flight >=
                              request.num_prompt() + request.spec.max_tokens;
}

/// Tokens that the request would compute from position `first_token` on without a token budget.
int V1Batching::wanted(const Request& request, int first_token, const Step& step) {
  const int left = request.expected_tokens() - first_token;
  return step.prefill_threshold > 0 ? std::min(left, step.prefill_threshold) : left;
}

/// Allocates blocks for the request, preempting others if need be. False when it gets none, since
/// it was preempted itself or the victim is fenced; the phase goes on with `after`, if there is
/// one.
bool V1Batching::grow(Request& request, int num_tokens, Step& step, Request*& after) {
  while (!try_grow(request, num_tokens)) {
    if (state_.release_prefetched(KvReason::pressure_run, step.now)) continue;
    const bool alone = state_.running.size() == 1;
    if (alone && state_.pins.release_one(KvReason::pressure_run)) continue;
    if (state_.shrink_suspended(nullptr, step.now)) {
      step.out_of_blocks = true;
      continue;
    }
    Request& victim = state_.order.choose_victim(state_.running);
    if (state_.fenced(victim) && state_.config.version != Version::v0_26) return false;
    step.out_of_blocks = true;
    const bool itself = &victim == &request;
    if (itself && state_.config.version == Version::v0_33) after = RunningList::next(request);
    state_.preempt(victim, step);
    if (itself) return false;
  }
  return true;
}

bool V1Batching::try_grow(Request& request, int num_tokens) {
  return state_.kv.try_grow(request, num_tokens);
}

/// Admits from the head of the queue until one request cannot be admitted. No other overtakes it.
void V1Batching::admit_waiting(Step& step) {
  // Requests that were passed over have waited for copies since then.
  for (const auto& [request, id] : std::exchange(deferred_, {})) {
    if (request->id != id || !request->waits()) continue;
    request->time.load_stall += step.now - std::exchange(request->last_seen, step.now);
  }
  bool goes_on = state_.tier.connector() == nullptr || admit_holders(step);
  while (goes_on && state_.order.front() != nullptr) goes_on = admit_head(step);
  for (Request* const request : std::views::reverse(step.plan.deferred)) {
    if (!LoadingList::contains(*request)) state_.order.put_back(*request);
    deferred_.emplace_back(request, request->id);
  }
  if (goes_on && state_.order.held_back() > 0) step.plan.stop = StopReason::active_programs;
}

/// Whether something runs, loads, or waits for the steps in flight to free its blocks.
bool V1Batching::blocks_come_free() const {
  for (const Request* r = state_.loading.front(); r != nullptr; r = LoadingList::next(*r))
    if (r->status == RequestStatus::loading) return true;
  return !state_.running.empty() || !state_.late.empty();
}

/// Admits requests with loaded KV, and in vLLM 0.26 those that were passed over, in their order,
/// past those that still load. There the head of the queue may precede them. Where the first needs
/// blocks of the others and nothing else frees any, vLLM 0.26 waits for ever; here it is skipped.
bool V1Batching::admit_holders(Step& step) {
  const bool one_queue = state_.config.version == Version::v0_26;
  const auto head_overtakes = [&](const Request& request) {
    const Request* head = state_.order.front();
    return one_queue && head != nullptr && state_.order.overtakes(*head, request);
  };
  Request* after = nullptr;
  for (Request* request = state_.loading.front(); request != nullptr; request = after) {
    bool goes_on = true;
    while (goes_on && head_overtakes(*request)) goes_on = admit_head(step);
    if (!goes_on && blocks_come_free()) return false;
    after = LoadingList::next(*request);
    const std::size_t passed = step.plan.deferred.size();
    goes_on = true;
    while (goes_on && LoadingList::contains(*request) &&
           request->status != RequestStatus::loading && step.plan.deferred.size() == passed)
      goes_on = admit_next(*request, step);
    if (!goes_on && (!one_queue || blocks_come_free())) return false;
  }
  return true;
}

/// Admits the request, or frees blocks for it. False when the step admits no more.
bool V1Batching::admit_next(Request& head, Step& step) {
  StopReason& stop = step.plan.stop;
  const bool full = static_cast<int>(state_.running.size()) == state_.config.max_num_seqs;
  stop = step.budget_left() == 0 ? StopReason::tok_budget
         : full                  ? StopReason::max_seqs
                                 : try_admit(head, step);
  if (stop == StopReason::none) return true;
  // With nothing running, only pins and suspended requests can be in the way. Making progress
  // matters more than keeping them.
  if (!state_.running.empty() || stop == StopReason::chunk_off) return false;
  return state_.release_prefetched(KvReason::pressure_admit, step.now) ||
         state_.pins.release_one(KvReason::pressure_admit) ||
         state_.shrink_suspended(&head, step.now);
}

/// Admits the head of the queue, starts to load its KV, or returns the reason to stop, having
/// changed nothing. A request that holds blocks is loaded or suspended, and continues behind them.
StopReason V1Batching::try_admit(Request& request, Step& step) {
  KvCache& kv = state_.kv;
  const bool holds_blocks = !request.blocks.empty();
  if (holds_blocks) state_.take_up(request);
  const bool may_load = request.status != RequestStatus::loaded;
  if (!holds_blocks && still_blocked(request, step)) return StopReason::isl_reserve;
  const auto hits = holds_blocks ? std::span<const BlockId>() : kv.find_prefix(request);
  const auto gpu_blocks = static_cast<int>(request.blocks.size() + hits.size());
  const int on_gpu = holds_blocks ? request.num_computed_tokens : gpu_blocks * kv.block_size();
  const HostHit host = may_load ? state_.tier.find(request, on_gpu) : HostHit{};
  if (host.ask_again) return pass_over(request, step);
  if (host.tokens > 0 && !state_.tier.blocking())
    return start_load(request, hits, host.tokens, step.now);

  const int known = on_gpu + host.tokens;
  const int num_tokens = chunk(request, known, step);
  if (num_tokens == 0) return StopReason::chunk_off;
  const Needs needs = needs_of(request);
  const Admission admission =
      kv.try_admit(request, hits, host.tokens + num_tokens, needs.must_fit, needs.free_blocks);
  if (admission.fit != Fit::ok) return refusal(request, admission);
  if (!holds_blocks) request.record_hits(on_gpu, host.tokens);
  request.num_computed_tokens = known;
  kv.extend(request, needs.allocated);
  if (host.tokens > 0) state_.tier.load(request, gpu_blocks, kv.blocks_for(known) - gpu_blocks);
  admit(request, step, num_tokens);
  return StopReason::none;
}

/// Takes the request out of the queue until the next step. vLLM 0.26 keeps it there with those that
/// load, in front of the queue.
StopReason V1Batching::pass_over(Request& request, Step& step) {
  if (state_.config.version == Version::v0_26)
    state_.set_aside(request);
  else
    state_.order.remove(request);
  request.time.queue += step.now - std::exchange(request.last_seen, step.now);
  step.plan.deferred.push_back(&request);
  return StopReason::none;
}

/// Tokens of the request that the step can compute from position `first_token` on. 0 when they are
/// a prompt that exceeds the budget left and may not be split.
int V1Batching::chunk(const Request& request, int first_token, const Step& step) {
  const int tokens = wanted(request, first_token, step);
  if (!step.splits_prompts && tokens > step.budget_left()) return 0;
  return std::min(tokens, step.budget_left());
}

/// Allocates blocks for the KV that the GPU and the host have of the request, and makes the request
/// wait for the load.
StopReason V1Batching::start_load(Request& request, std::span<const BlockId> hits, int tokens,
                                  Nanos now) {
  const Needs needs = needs_of(request);
  const Admission admission = state_.kv.try_admit_loading(request, hits, tokens, needs.must_fit,
                                                          needs.free_blocks + promised_blocks());
  if (admission.fit != Fit::ok) return refusal(request, admission);
  const auto num_hits = static_cast<int>(hits.size());
  const int on_gpu = num_hits * state_.kv.block_size();
  request.record_hits(on_gpu, tokens);
  request.num_computed_tokens = on_gpu + tokens;
  state_.tier.load(request, num_hits, state_.kv.blocks_for(request.num_computed_tokens) - num_hits);
  state_.on_admitted(request);
  return state_.await_copy(request, now);
}

/// Moves a request that has its blocks from the queue into the running set and into the step.
void V1Batching::admit(Request& request, Step& step, int num_tokens) {
  const bool was_loaded = request.status == RequestStatus::loaded;
  const bool fresh = request.num_preemptions == 0;
  state_.leave_queue(request);
  if (!was_loaded) state_.on_admitted(request);
  state_.running.push_back(request);
  request.status = RequestStatus::running;
  request.swapped_out = false;
  if (request.admitted < Nanos{0}) request.admitted = step.now;
  step.add(request, fresh ? SchedKind::fresh : SchedKind::resumed, num_tokens,
           static_cast<int>(request.blocks.size()));
}

Needs V1Batching::needs_of(const Request& request) const {
  const int left_free = state_.config.version == Version::v0_33 ? watermark() : 0;
  if (!state_.config.reserve_full_sequence) return {.free_blocks = left_free};
  return {.must_fit = whole_sequence(request), .free_blocks = left_free};
}

/// Blocks that an admission leaves free; none for a request that would run alone.
int V1Batching::watermark() const {
  return state_.running.empty() ? 0 : state_.config.watermark_blocks;
}

/// Blocks that prefills in flight still need, which a load does not take: it cannot be preempted.
int V1Batching::promised_blocks() const {
  if (state_.tier.connector() == nullptr) return 0;
  int blocks = 0;
  const auto add = [&](const Request& r) {
    const int all = state_.kv.blocks_for(std::min(r.num_tokens(), state_.config.max_model_len));
    blocks += std::max(0, all - static_cast<int>(r.blocks.size()));
  };
  for (const Request* r = state_.running.front(); r != nullptr; r = RunningList::next(*r))
    if (r->prefilling) add(*r);
  for (const Request* r = state_.loading.front(); r != nullptr; r = LoadingList::next(*r))
    if (!r->waits()) add(*r);
  return blocks;
}

int V1Batching::whole_sequence(const Request& request, int more) const {
  const int own = std::min(request.num_tokens(), state_.config.max_model_len) + more;
  return (state_.kv.blocks_for(own) + watermark()) * state_.kv.block_size();
}

StopReason V1Batching::refusal(const Request& request, const Admission& admission) {
  if (admission.fit == Fit::out_of_blocks) return StopReason::kv_insufficient;
  if (request.blocks.empty()) {
    blocked_ = request.id;
    blocked_until_ = state_.kv.num_changes() + static_cast<std::uint64_t>(admission.missing_blocks);
  }
  return StopReason::isl_reserve;
}

/// Whether an earlier refusal of this request, for lack of room for its whole sequence, must still
/// hold.
bool V1Batching::still_blocked(const Request& request, const Step& step) const {
  if (state_.tier.connector() != nullptr) return false;  // a look-up has effects
  // The watermark does not apply to a request that would run alone.
  if (state_.config.watermark_blocks > 0 && state_.running.empty()) return false;
  return step.splits_prompts && blocked_ == request.id && state_.kv.num_changes() < blocked_until_;
}

}  // namespace engine
