// How requests wait for KV from the host, and continue with what has arrived.
#include <algorithm>
#include <cassert>

#include "workers/engine/scheduler/state.hpp"

namespace engine {
StopReason SchedulerState::await_copy(Request& request, Nanos now) {
  set_aside(request);
  request.status = RequestStatus::loading;
  request.time.queue += now - request.last_seen;
  request.last_seen = now;
  return StopReason::none;
}

void SchedulerState::set_aside(Request& request) {
  if (LoadingList::contains(request)) return;
  order.remove(request);
  Request* before = loading.back();
  while (before != nullptr && order.overtakes(request, *before))
    before = LoadingList::prev(*before);
  loading.insert_behind(before, request);
}

void SchedulerState::on_loaded(std::span<const LoadedKv> loads, Nanos now) {
  for (const LoadedKv& load : loads) {
    Request& request = *load.request;
    assert(request.status == RequestStatus::loading);
    request.time.load_stall += now - request.last_seen;
    request.last_seen = now;
    request.num_computed_tokens = load.tokens;
    if (load.failed) kv.truncate(request, kv.blocks_for(load.tokens));
    request.status = RequestStatus::loaded;
    if (load.tokens == 0) return_to_queue(request);
  }
}

void SchedulerState::take_up(Request& request) {
  const int tokens = request.num_computed_tokens;
  const bool known = request.num_hashed_blocks >= tokens / kv.block_size();
  if (request.status != RequestStatus::loaded || known) return;
  kv.register_loaded(request);
  // The last token is always computed, because its logits are needed.
  request.num_computed_tokens = std::min(tokens, request.num_tokens() - 1);
  request.record_hits(request.prefix_hit_tokens,
                      request.num_computed_tokens - request.prefix_hit_tokens);
}

/// Returns a request whose KV did not arrive to the queue, behind the head, without any.
void SchedulerState::return_to_queue(Request& request) {
  Request* head = order.front();
  leave_queue(request);
  if (eviction != nullptr) eviction->on_preempted(request);
  kv.release(request);
  request.num_computed_tokens = 0;
  request.status = request.num_preemptions == 0 ? RequestStatus::waiting : RequestStatus::preempted;
  order.push_preempted(request);
  pins.on_preempted(request);
  if (head == nullptr || head == &request || order.front() != &request) return;
  order.remove(*head);
  order.push_preempted(*head);
}

void SchedulerState::on_load_failed(std::span<const LoadedKv> loads, StepPlan& plan) {
  for (const LoadedKv& load : loads) {
    const int num_blocks = load.tokens / kv.block_size();
    const std::span<const BlockId> blocks(load.request->blocks);
    const auto missing = blocks.subspan(static_cast<std::size_t>(num_blocks));
    const std::vector<BlockId> lost(missing.begin(), missing.end());
    truncate_in_step(*load.request, num_blocks, plan);
    // Requests admitted later in the step may have hit blocks that never arrived.
    for (std::size_t i = 0; i < plan.scheduled.size();) {
      Request& other = *plan.scheduled[i].request;
      const auto at = std::ranges::find_first_of(other.blocks, lost);
      if (at == other.blocks.end()) {
        ++i;
      } else {
        truncate_in_step(other, static_cast<int>(at - other.blocks.begin()), plan);
      }
    }
  }
}

/// Removes a running request from the step. It keeps its first blocks and continues behind them.
void SchedulerState::truncate_in_step(Request& request, int num_blocks, StepPlan& plan) {
  withdraw(request, plan);
  kv.truncate(request, num_blocks);
  request.num_computed_tokens = num_blocks * kv.block_size();
}

}  // namespace engine
