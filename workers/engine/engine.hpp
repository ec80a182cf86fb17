#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/config.hpp"
#include "workers/engine/scheduler/ranked_eviction.hpp"
#include "workers/engine/scheduler/scheduler.hpp"
#include "workers/engine/step/backend.hpp"

namespace engine {

/// Serves requests step by step: scheduler, paged KV cache, pins and host tier. Borrows the
/// backend, the clock and the copier.
class Engine {
 public:
  /// Throws InputError when the limits contradict each other, or when one sequence of max_model_len
  /// does not fit the pool. A tier needs a copier.
  Engine(const EngineConfig& config, Clock& clock, Backend& backend, QueueOrder& order,
         RetentionPolicy& retention, TraceSink& sink, BlockCopier* copier = nullptr);

  /// Throws InputError when the prompt leaves no room for an output token.
  RequestId submit(const RequestSpec& spec);

  /// True when nothing waits, loads or runs. With a connector, copies run, too.
  bool idle() const { return scheduler_.idle() && (connector_ == nullptr || !copying()); }
  /// True when copies are in flight; they take effect in later steps.
  bool copying() const { return tier_->busy(); }

  /// Runs one engine iteration. With nothing to compute it waits for a copy, at most until `until`,
  /// when the next request may arrive. The trace, and the finished requests in it, are valid until
  /// the next step.
  ///
  /// An asynchronous engine schedules and launches a step, then waits for the one before it, which
  /// the trace is about: the state after it was scheduled, and all events since the last trace.
  const StepTrace& step(Nanos until = Nanos::max());
  /// When an idle engine must be woken: to trace what the last step pinned, to expire pins, or to
  /// plan copies.
  Nanos wakeup() const;
  /// Runs a step of an idle engine, without waiting.
  const StepTrace& wake();

  const KvCache& kv() const { return kv_; }
  const HostTier& tier() const { return *tier_; }

 private:
  Request& new_request();
  void recycle_finished();
  const StepTrace& finish_step(const StepResult& result, Nanos end);
  /// A step that is scheduled and not applied, and the state after it was scheduled.
  struct Flight {
    StepPlan plan;
    StepTrace trace;
    Nanos launched{0};
  };
  const StepTrace& step_async(Nanos until);
  /// Whether a step in flight computes anything.
  bool computing() const { return !flights_.empty() && !flights_.front().plan.scheduled.empty(); }
  void launch_next();
  void launch(Flight& flight);
  const StepTrace& land_oldest();
  void begin_step();
  void schedule_step();
  StepResult execute(Nanos until);
  void trace_step(Nanos start);
  void trace_evictions();
  void stamp_events(Nanos at);
  void require_progress();

  EngineConfig config_;
  Clock& clock_;
  Backend& backend_;
  QueueOrder& order_;
  TraceSink& sink_;
  KvCache kv_;
  Pins pins_;
  std::unique_ptr<HostTier> tier_;
  Connector* connector_;  // the tier, if it is one
  std::unique_ptr<EvictionOrder> eviction_;
  Scheduler scheduler_;
  StepPlan plan_;
  StepTrace trace_;
  std::deque<Flight> flights_;  // asynchronous: in order of launch, at most two
  std::vector<Request*> finished_;
  std::deque<Request> requests_;    // stable addresses
  std::vector<Request*> reusable_;  // ended requests; their buffers are reused
  std::uint32_t num_submitted_ = 0;
  std::size_t stamped_events_ = 0;
  std::uint64_t pin_changes_shown_ = 0;  // by the last trace
  Nanos last_end_{0};                    // of the last step that was applied
  int empty_steps_ = 0;
  std::size_t fruitless_preemptions_ = 0;  // since a token was sampled
};

}  // namespace engine
