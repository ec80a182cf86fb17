// How the scheduler handles requests with KV from the host.
#include <algorithm>
#include <cassert>
#include <ranges>

#include "workers/engine/scheduler.hpp"

namespace engine {
namespace {

RequestStatus queued_status(const Request& request) {
  return request.num_preemptions == 0 ? RequestStatus::waiting : RequestStatus::preempted;
}

}  // namespace

void Scheduler::record_hits(Request& request, int on_gpu, int from_host) {
  if (request.admitted >= Nanos{0}) return;
  request.prefix_hit_tokens = on_gpu;
  request.host_hit_tokens = from_host;
}

/// Allocates blocks for the KV that the GPU and the host have of the request, and makes the request
/// wait for the load.
StopReason Scheduler::start_load(Request& request, std::span<const BlockId> hits, int tokens,
                                 Nanos now) {
  const Admission admission =
      kv_.try_admit_loading(request, hits, tokens, reserved_tokens(request));
  if (admission.fit != Fit::ok) return refusal(request, admission);
  const auto num_hits = static_cast<int>(hits.size());
  const int on_gpu = num_hits * kv_.block_size();
  record_hits(request, on_gpu, tokens);
  request.num_computed = on_gpu + tokens;
  tier_.load(request, num_hits, kv_.blocks_for(request.num_computed) - num_hits);
  pins_.on_admitted(request);
  return await_copy(request, now);
}

/// Makes the request wait in `loading`, outside the queue, until its KV is in the cache.
StopReason Scheduler::await_copy(Request& request, Nanos now) {
  order_.remove(request);
  request.status = RequestStatus::loading;
  request.time.queue += now - request.last_seen;
  request.last_seen = now;
  loading_.push_back(request);
  return StopReason::none;
}

void Scheduler::on_loaded(std::span<const LoadedKv> loads, Nanos now) {
  for (const LoadedKv& load : loads) {
    Request& request = *load.request;
    assert(request.status == RequestStatus::loading);
    request.time.load_stall += now - request.last_seen;
    request.last_seen = now;
    if (load.in_cache) {
      loading_.remove(request);
      request.status = queued_status(request);
      continue;
    }
    request.num_computed = load.tokens;
    if (load.failed) kv_.truncate(request, kv_.blocks_for(load.tokens));
    record_hits(request, request.prefix_hit_tokens, load.tokens - request.prefix_hit_tokens);
    kv_.register_loaded(request);
    // The last token is always computed, because its logits are needed.
    request.num_computed = std::min(request.num_computed, request.num_tokens() - 1);
    loading_.remove(request);
    request.status = RequestStatus::loaded;
    loaded_.push_back(request);
  }
  // Loads complete in the order in which they were issued; pushing in reverse puts the first one
  // first.
  for (const LoadedKv& load : std::views::reverse(loads)) {
    if (load.in_cache) order_.push_loaded(*load.request);
    if (load.request->status != RequestStatus::loaded) continue;
    order_.push_loaded(*load.request);
    if (load.tokens == 0) return_to_queue(*load.request);
  }
}

StopReason Scheduler::try_admit_loaded(Request& request, StepPlan& plan, Nanos now) {
  const int chunk = wanted(request, request.num_computed);
  if (!splits_prompts_ && chunk > budget_left(plan)) return StopReason::chunking_off;
  const int num_tokens = std::min(chunk, budget_left(plan));
  const Admission admission = kv_.try_admit_loaded(request, num_tokens, reserved_tokens(request));
  if (admission.fit == Fit::sequence_too_long) return StopReason::sequence_reserved;
  if (admission.fit == Fit::out_of_blocks) return StopReason::kv_insufficient;
  loaded_.remove(request);
  order_.remove(request);
  admit(request, plan, num_tokens, now);
  return StopReason::none;
}

/// Frees blocks that something holds without computing, for `head` or for a running request. False
/// when nothing holds any.
bool Scheduler::release_held(const Request* head, KvReason pressure, Nanos now) {
  return release_prefetched(pressure, now) || pins_.release_one(pressure) ||
         drop_loaded(head, pressure, now) || shrink_suspended(head, now);
}

/// Releases the blocks of the request that loaded last; their content stays cached until it is
/// evicted.
bool Scheduler::drop_loaded(const Request* head, KvReason pressure, Nanos now) {
  Request* victim = loaded_.back();
  if (victim != nullptr && victim == head) victim = LoadingList::prev(*victim);
  if (victim == nullptr) return false;
  pins_.events().push_back({KvEventKind::drop, pressure, victim->spec.job, victim->spec.turn,
                            static_cast<int>(victim->blocks.size()), victim->spec.job,
                            victim->spec.turn});
  tier_.forget(*victim, now);
  victim->no_more_loads = true;
  return_to_queue(*victim);
  return true;
}

/// Returns a request with loaded KV to the queue without it, behind the head.
void Scheduler::return_to_queue(Request& request) {
  Request* head = order_.front();
  loaded_.remove(request);
  order_.remove(request);
  kv_.release(request);
  request.num_computed = 0;
  request.status = queued_status(request);
  order_.push_preempted(request);
  pins_.on_preempted(request);
  if (head == &request || order_.front() != &request) return;
  order_.remove(*head);
  order_.push_preempted(*head);
}

void Scheduler::on_load_failed(std::span<const LoadedKv> loads, StepPlan& plan) {
  for (const LoadedKv& load : loads) {
    const int num_blocks = load.tokens / kv_.block_size();
    const BlockId lost = load.request->blocks[static_cast<std::size_t>(num_blocks)];
    truncate_in_step(*load.request, num_blocks, plan);
    // Requests admitted later in the step may have hit blocks that never arrived.
    for (std::size_t i = 0; i < plan.scheduled.size();) {
      Request& other = *plan.scheduled[i].request;
      const auto at = std::ranges::find(other.blocks, lost);
      if (at == other.blocks.end()) {
        ++i;
      } else {
        truncate_in_step(other, static_cast<int>(at - other.blocks.begin()), plan);
      }
    }
  }
}

/// Removes a running request from the step. It keeps its first blocks and continues behind them.
void Scheduler::truncate_in_step(Request& request, int num_blocks, StepPlan& plan) {
  if (request.scheduled_in_step == plan.step) withdraw(request, plan);
  kv_.truncate(request, num_blocks);
  request.num_computed = num_blocks * kv_.block_size();
}

}  // namespace engine
