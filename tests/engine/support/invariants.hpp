#pragma once
#include <map>
#include <vector>

#include "workers/engine/scheduler/scheduler.hpp"

namespace support {

/// Invariants of scheduler, KV cache, queue and pins after every half step. Must observe every step
/// from the first; throws std::logic_error naming the first violated rule.
class Invariants {
 public:
  Invariants(const engine::KvConfig& kv_config, const engine::SchedulerConfig& config,
             const engine::KvCache& kv, const engine::Scheduler& scheduler,
             const engine::QueueOrder& order, const engine::Pins& pins, engine::HostTier& tier,
             bool fcfs);

  void before_schedule();
  void after_schedule(const engine::StepPlan& plan);
  /// Called when the copies that the step waits for have completed.
  void before_execution(const engine::StepPlan& plan);
  void before_apply();
  void after_apply();
  /// Events since the last call, in order.
  void on_events(const std::vector<engine::KvEvent>& events);
  /// Checks pool and tables alone, at any time.
  void check_blocks() const;

 private:
  void check_step(const engine::StepPlan& plan) const;
  void check_running(std::uint64_t step) const;
  void check_waiting() const;
  std::vector<const engine::Request*> holders() const;
  void check_tables_only_grow();
  void check_fcfs() const;

  engine::KvConfig kv_config_;
  engine::SchedulerConfig config_;
  const engine::KvCache& kv_;
  const engine::Scheduler& scheduler_;
  const engine::QueueOrder& order_;
  const engine::Pins& pins_;
  engine::HostTier& tier_;
  bool fcfs_;
  bool must_progress_ = false;
  std::map<const engine::Request*, std::vector<engine::BlockId>> tables_;  // of running requests
  std::map<engine::JobId, std::vector<engine::BlockId>> pinned_;
};

}  // namespace support
