#include "workers/engine/engine.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>

#include "workers/engine/base/errors.hpp"

namespace engine {
namespace {

/// A device's pool is known when it is there; all else was checked when the cell was bound.
const EngineConfig& checked(const EngineConfig& config) {
  const SchedulerConfig& s = config.scheduler;
  assert(s.max_num_batched_tokens >= s.max_num_seqs);
  assert(s.chunked_prefill || s.max_num_batched_tokens >= s.max_model_len);
  const std::int64_t pool = std::int64_t{config.kv.num_blocks - 1} * config.kv.block_size;
  if (pool >= s.max_model_len) return config;
  throw InputError("the KV pool must hold one sequence of engine.max_model_len tokens, found " +
                   std::to_string(pool) + " tokens in the pool and a length of " +
                   std::to_string(s.max_model_len));
}

}  // namespace

Engine::Engine(const EngineConfig& config, Clock& clock, Backend& backend, QueueOrder& order,
               RetentionPolicy& retention, TraceSink& sink, BlockCopier* copier)
    : config_(checked(config)),
      clock_(clock),
      backend_(backend),
      order_(order),
      sink_(sink),
      kv_(config.kv),
      pins_(kv_, order, retention),
      tier_(make_host_tier(config.tier, config.scheduler.max_num_batched_tokens, kv_, copier,
                           pins_.events())),
      connector_(tier_->connector()),
      eviction_(make_eviction_order(config.eviction, kv_, order)),
      scheduler_(config.scheduler, kv_, order, pins_, *tier_, eviction_.get()) {}

Request& Engine::new_request() {
  if (reusable_.empty()) return requests_.emplace_back();
  Request& request = *reusable_.back();
  reusable_.pop_back();
  // Keeps the capacity of the buffers that a request needs on arrival.
  Request fresh;
  fresh.outputs.swap(request.outputs);
  fresh.own_hashes.swap(request.own_hashes);
  fresh.outputs.clear();
  fresh.own_hashes.clear();
  request = std::move(fresh);
  return request;
}

RequestId Engine::submit(const RequestSpec& spec) {
  const int max_len = config_.scheduler.max_model_len;
  if (spec.prompt.empty() || static_cast<int>(spec.prompt.size()) >= max_len) {
    throw InputError("a prompt must have between 1 and " + std::to_string(max_len - 1) +
                     " tokens (engine.max_model_len less one), found " +
                     std::to_string(spec.prompt.size()) + " in job " +
                     std::to_string(index(spec.job)) + " turn " + std::to_string(spec.turn));
  }
  Request& request = new_request();
  request.id = RequestId{num_submitted_++};
  request.spec = spec;
  request.last_seen = spec.arrival;
  request.computed_before = spec.computed_by_earlier_turns;
  request.outputs.reserve(static_cast<std::size_t>(spec.max_tokens));
  if (spec.known_hashes.empty())
    request.own_hashes.reserve(
        static_cast<std::size_t>(kv_.blocks_for(request.num_prompt() + spec.max_tokens)));
  hash_full_blocks(request, kv_.block_size());
  scheduler_.submit(request);
  tier_->on_arrival(request, clock_.now());
  return request.id;
}

const StepTrace& Engine::step(Nanos until) {
  if (config_.async_scheduling) return step_async(until);
  begin_step();
  const StepResult result = execute(until);
  return finish_step(result, clock_.now());
}

/// A turn's pin begins when its step has ended. If the engine slept until the next turn arrives, no
/// trace would show the pinned blocks meanwhile.
Nanos Engine::wakeup() const {
  if (pins_.num_changes() != pin_changes_shown_ || !flights_.empty()) return clock_.now();
  return std::min(pins_.next_expiry(), connector_ ? connector_->wakeup() : Nanos::max());
}

const StepTrace& Engine::wake() {
  if (!flights_.empty()) {
    recycle_finished();
    return land_oldest();
  }
  if (connector_ != nullptr && config_.async_scheduling)
    scheduler_.on_loaded(tier_->poll(clock_.now()), clock_.now());
  begin_step();
  tier_->before_execution(plan_, clock_);
  trace_.stall = Nanos{0};
  return finish_step({}, clock_.now());
}

void Engine::begin_step() {
  recycle_finished();
  schedule_step();
}

void Engine::schedule_step() {
  const Nanos start = clock_.now();
  backend_.on_phase(StepPhase::plan, plan_.step + 1);
  // An asynchronous connector makes known what a step observed when that is applied.
  if (connector_ == nullptr || !config_.async_scheduling)
    scheduler_.on_loaded(tier_->poll(start), start);
  pins_.expire(start);
  scheduler_.schedule(plan_, start);
  trace_step(start);
  trace_.scheduling = clock_.now() - start;
  backend_.on_phase(StepPhase::execute, plan_.step);
}

const StepTrace& Engine::finish_step(const StepResult& result, Nanos end) {
  trace_.end = end;
  trace_.split = result.split;
  backend_.on_phase(StepPhase::done, plan_.step);
  scheduler_.apply(plan_, result, trace_.start, end, finished_, trace_.stall);
  stamp_events(end);
  trace_.transfers = tier_->take_stats();
  trace_.finished = finished_;
  trace_.kv_events = pins_.events();
  sink_.on_step(trace_);
  return trace_;
}

/// Executes the step, between the copies that it waits for.
StepResult Engine::execute(Nanos until) {
  const Nanos start = clock_.now();
  const auto failed = tier_->before_execution(plan_, clock_);
  if (!failed.empty()) scheduler_.on_load_failed(failed, plan_);
  trace_.stall = Nanos{0};
  if (plan_.scheduled.empty() && tier_->busy()) {
    tier_->after_execution(plan_, clock_);
    tier_->wait(clock_, std::min(until, pins_.next_expiry()));
    return {};
  }
  const Nanos ready = clock_.now();
  const StepResult result = backend_.execute(plan_);
  clock_.advance(result.duration);
  const Nanos computed = clock_.now();
  tier_->after_execution(plan_, clock_);
  trace_.stall = ready - start + clock_.now() - computed;
  return result;
}

void Engine::recycle_finished() {
  for (Request* const request : finished_) {
    request->contents = std::vector<ContentId>();
    request->blocks = std::vector<BlockId>();
    reusable_.push_back(request);
  }
  finished_.clear();
  pins_.events().clear();
  stamped_events_ = 0;
  kv_.clear_evictions();
}

/// Records the state between scheduling and execution, when the step's blocks are allocated and
/// none is freed yet.
void Engine::trace_step(Nanos start) {
  const bool stalls = plan_.scheduled.empty() && !idle() && !tier_->busy() && !computing();
  empty_steps_ = stalls ? empty_steps_ + 1 : 0;
  if (empty_steps_ > 1)
    throw std::logic_error("the engine stalls: requests wait, nothing runs, nothing was admitted");
  require_progress();
  trace_evictions();
  stamp_events(start);
  trace_.plan = &plan_;
  trace_.start = start;
  trace_.num_running = static_cast<int>(scheduler_.running().size());
  trace_.num_waiting = order_.size();
  trace_.num_loading = static_cast<int>(scheduler_.loading().size());
  trace_.num_pins = pins_.count();
  pin_changes_shown_ = pins_.num_changes();
  trace_.blocks = kv_.census();
  trace_.unwritten_slots = scheduler_.unwritten_slots();
  const HostUsage host = tier_->usage();
  trace_.host_blocks = host.used_blocks;
  trace_.host_capacity = host.capacity_blocks;
  trace_.evictions = kv_.evictions();
}

/// Under some orders requests preempt each other's prefills for ever.
void Engine::require_progress() {
  constexpr std::size_t kMost = 100'000;
  const bool samples = std::ranges::any_of(plan_.scheduled, &ScheduledRequest::samples);
  fruitless_preemptions_ = samples ? 0 : fruitless_preemptions_ + plan_.preempted.size();
  if (fruitless_preemptions_ > kMost)
    throw InputError("requests preempt each other for ever: " + std::to_string(kMost) +
                     " preemptions without a token");
}

/// Stamps the events since the last call with this time.
void Engine::stamp_events(Nanos at) {
  auto& events = pins_.events();
  for (; stamped_events_ < events.size(); ++stamped_events_) events[stamped_events_].at = at;
}

void Engine::trace_evictions() {
  auto& events = pins_.events();
  const auto first = static_cast<std::ptrdiff_t>(events.size());
  const auto of = [](const KvEvent& event, const Eviction& lost) {
    return event.job == lost.job && event.by_job == lost.by_job && event.by_turn == lost.by_turn;
  };
  auto same = events.end();
  for (const Eviction& lost : kv_.evictions()) {
    // Mostly that of the eviction before.
    if (same == events.end() || !of(*same, lost))
      same = std::find_if(events.begin() + first, events.end(),
                          [&](const KvEvent& event) { return of(event, lost); });
    if (same == events.end()) {
      events.push_back({KvEventKind::evict_gpu, KvReason::out_of_blocks, lost.job, lost.turn, 0,
                        lost.by_job, lost.by_turn});
      same = events.end() - 1;
    }
    ++same->blocks;
  }
}

}  // namespace engine
