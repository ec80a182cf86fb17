#pragma once
#include <deque>
#include <vector>

#include "workers/engine/backend.hpp"
#include "workers/engine/clock.hpp"
#include "workers/engine/pins.hpp"
#include "workers/engine/scheduler.hpp"

namespace engine {

struct EngineConfig {
  KvConfig kv;
  SchedulerConfig scheduler;
};

/// Serves requests step by step: scheduler, paged KV cache and pins over a backend and a clock,
/// both borrowed.
class Engine {
 public:
  /// Throws InputError when the limits contradict each other, or one sequence of max_model_len does
  /// not fit the pool.
  Engine(const EngineConfig& config, Clock& clock, Backend& backend, QueueOrder& order,
         RetentionPolicy& retention, TraceSink& sink);

  /// Throws InputError when the prompt leaves no room for an output token.
  RequestId submit(const RequestSpec& spec);

  /// Nothing waits and nothing runs.
  bool idle() const { return scheduler_.idle(); }

  /// One engine iteration. The trace, and the finished requests in it, are valid until the next
  /// step.
  const StepTrace& step();

  const KvCache& kv() const { return kv_; }

 private:
  Request& new_request();
  void recycle_finished();
  void trace_step(Nanos start);
  void trace_evictions();
  void stamp_events(Nanos at);

  EngineConfig config_;
  Clock& clock_;
  Backend& backend_;
  QueueOrder& order_;
  TraceSink& sink_;
  KvCache kv_;
  Pins pins_;
  Scheduler scheduler_;
  StepPlan plan_;
  StepTrace trace_;
  std::vector<Request*> finished_;
  std::deque<Request> requests_;    // stable addresses
  std::vector<Request*> reusable_;  // ended requests, whose buffers serve the next ones
  std::uint32_t num_submitted_ = 0;
  std::size_t stamped_events_ = 0;
  int empty_steps_ = 0;
};

}  // namespace engine
