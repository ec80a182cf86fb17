// Asynchronous scheduling: a step is scheduled before the tokens of the one before it are known.
#include <algorithm>
#include <utility>

#include "workers/engine/engine.hpp"

namespace engine {

const StepTrace& Engine::step_async(Nanos until) {
  recycle_finished();
  launch_next();
  // With nothing else in flight the next step is scheduled at once. No time passes in between.
  const bool waits = connector_ != nullptr && !idle();
  if (flights_.size() == 1 && (computing() || waits)) launch_next();
  const StepTrace& trace = land_oldest();
  if (trace.plan->scheduled.empty() && !computing() && copying())
    tier_->wait(clock_, std::min(until, pins_.next_expiry()));
  return trace;
}

/// Schedules a step with what is known now, and starts it behind the one in flight.
void Engine::launch_next() {
  schedule_step();
  tier_->before_execution(plan_, clock_);
  trace_.start = clock_.now();
  if (!plan_.scheduled.empty()) backend_.launch(plan_);
  if (connector_ != nullptr) {
    tier_->after_execution(plan_, clock_);
    connector_->observe(clock_.now());
  }
  flights_.push_back({std::move(plan_), trace_});
  plan_ = {};
}

/// Waits for the oldest step and applies it. It has run since its launch, or since the end of the
/// step before it.
const StepTrace& Engine::land_oldest() {
  Flight flight = std::move(flights_.front());
  flights_.pop_front();
  plan_ = std::move(flight.plan);
  const std::span<const Eviction> evictions = kv_.evictions();
  trace_ = flight.trace;
  trace_.plan = &plan_;
  trace_.evictions = evictions;
  const Nanos start = std::max(trace_.start, last_end_);
  trace_.start = start;
  trace_.stall = Nanos{0};
  StepResult result;
  if (!plan_.scheduled.empty()) {
    result = backend_.wait();
    clock_.advance(result.duration);
  }
  const StepTrace& trace = finish_step(result, start);
  last_end_ = trace.end;
  if (connector_ != nullptr) scheduler_.on_loaded(connector_->make_known(), trace.end);
  return trace;
}

}  // namespace engine
