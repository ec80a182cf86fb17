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

/// Schedules a step with what is known now, and starts it behind the one in flight. Where copies
/// run between steps, it starts when that one is over.
void Engine::launch_next() {
  schedule_step();
  flights_.push_back({std::move(plan_), trace_});
  plan_ = {};
  if (flights_.size() == 1 || !tier_->blocking()) launch(flights_.back());
}

void Engine::launch(Flight& flight) {
  const Nanos start = clock_.now();
  const auto failed = tier_->before_execution(flight.plan, clock_);
  if (!failed.empty()) scheduler_.on_load_failed(failed, flight.plan);
  flight.launched = clock_.now();
  flight.trace.start = tier_->blocking() ? start : flight.launched;
  if (!flight.plan.scheduled.empty()) backend_.launch(flight.plan);
  if (connector_ == nullptr) return;
  tier_->after_execution(flight.plan, clock_);
  connector_->observe(clock_.now());
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
  const Nanos launched = std::max(flight.launched, last_end_);
  trace_.start = std::max(trace_.start, last_end_);
  trace_.stall = launched - trace_.start;
  StepResult result;
  if (!plan_.scheduled.empty()) {
    result = backend_.wait();
    // The step has run while the host waited for copies.
    clock_.advance(std::max(Nanos{0}, launched + result.duration - clock_.now()));
  }
  last_end_ = clock_.now();
  if (tier_->blocking()) {
    tier_->after_execution(plan_, clock_);
    trace_.stall += clock_.now() - last_end_;
    last_end_ = clock_.now();
    if (!flights_.empty()) launch(flights_.front());
  }
  const StepTrace& trace = finish_step(result, last_end_);
  if (connector_ != nullptr) scheduler_.on_loaded(connector_->make_known(), trace.end);
  return trace;
}

}  // namespace engine
