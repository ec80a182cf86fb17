#include "workers/engine/scheduler/state.hpp"

#include <algorithm>

namespace engine {

void SchedulerState::leave_queue(Request& request) {
  if (LoadingList::contains(request)) return loading.remove(request);
  if (RunningList::contains(request)) suspended.remove(request);
  order.remove(request);
}

void SchedulerState::on_admitted(const Request& request) {
  pins.on_admitted(request);
  if (eviction != nullptr) eviction->on_admitted(request);
}

void SchedulerState::abort(Request& request, Nanos now) {
  tier.on_aborted(request, now);
  pins.on_aborted(request);
  if (eviction != nullptr) eviction->on_aborted(request);
  if (request.status == RequestStatus::running) {
    running.remove(request);
  } else {
    leave_queue(request);
  }
  free_blocks(request);
  request.status = RequestStatus::aborted;
  order.on_turn_end(request, now);
}

void SchedulerState::on_applied() {
  ++applied;
  for (; !late.empty() && late.front().batch <= applied; late.pop_front())
    kv.release(late.front().blocks);
}

void Step::add(Request& request, SchedKind kind, int num_tokens, int num_new_blocks) {
  const bool decode = kind == SchedKind::running && request.decoding();
  const bool samples = request.num_computed_tokens + num_tokens == request.expected_tokens();
  const int lost = request.computed_before - request.num_computed_tokens;
  plan.scheduled.push_back({.request = &request,
                            .kind = kind,
                            .num_tokens = num_tokens,
                            .computed_before = request.num_computed_tokens,
                            .num_new_blocks = num_new_blocks,
                            .samples = samples,
                            .decode = decode,
                            .in_flight = request.tokens_in_flight,
                            .recomputed = decode ? 0 : std::clamp(lost, 0, num_tokens)});
  request.tokens_in_flight += samples ? 1 : 0;
  plan.total_tokens += num_tokens;
  request.scheduled_in_step = plan.step;
  request.prefilling = request.prefilling || kind != SchedKind::running;
}

}  // namespace engine
