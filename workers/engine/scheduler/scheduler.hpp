#pragma once
#include <memory>
#include <vector>

#include "workers/engine/scheduler/v1.hpp"

namespace engine {

/// Decides what each step computes: continuous batching over a paged KV cache, with chunked
/// prefill, prefix caching and preemption by recompute.
///
/// The batching of the configuration decides which requests a step computes; V1Batching makes the
/// decisions of vLLM's V1 scheduler. The QueueOrder decides the order of service and the victims,
/// the retention policy decides about pins, and the tier about KV in host memory.
class Scheduler {
 public:
  Scheduler(const SchedulerConfig& config, KvCache& kv, QueueOrder& order, Pins& pins,
            HostTier& tier, EvictionOrder* eviction = nullptr);
  Scheduler(const Scheduler&) = delete;

  const RunningList& running() const { return state_.running; }
  const LoadingList& loading() const { return state_.loading; }
  /// Preempted requests that still hold their first blocks.
  const RunningList& suspended() const { return state_.suspended; }
  /// Blocks of sequences that ended before the rest of their batch.
  std::span<const BlockId> ended_in_batch() const { return batching_->ended().blocks; }
  /// Blocks of requests that ended while a step in flight computed for them.
  const std::deque<SchedulerState::LateRelease>& late() const { return state_.late; }
  /// Token slots in the blocks of running requests, and of those that ended before their batch,
  /// that hold no KV and get none in the current step.
  int unwritten_slots() const;
  bool idle() const;

  void submit(Request& request);
  /// Ends a waiting or running request and frees its blocks.
  void abort(Request& request, Nanos now = Nanos{0}) { state_.abort(request, now); }

  /// See SchedulerState.
  void on_loaded(std::span<const LoadedKv> loads, Nanos now) { state_.on_loaded(loads, now); }
  void on_load_failed(std::span<const LoadedKv> loads, StepPlan& plan) {
    state_.on_load_failed(loads, plan);
  }

  /// Fills `plan` with the next step. Allocates all blocks that the step needs, and counts its
  /// tokens as computed.
  void schedule(StepPlan& plan, Nanos now);

  /// Applies the result of the step: appends tokens, accounts for time, frees finished requests and
  /// appends them to `finished`. `stall` is the part of the step that waited for copies.
  ///
  /// Steps are applied in the order in which they were scheduled. Synchronous: each before the next
  /// is scheduled. Asynchronous: each after the next was scheduled, without the tokens of this one.
  /// Tokens of requests that have ended meanwhile are discarded.
  void apply(const StepPlan& plan, const StepResult& result, Nanos start, Nanos end,
             std::vector<Request*>& finished, Nanos stall = Nanos{0});

 private:
  int prefill_threshold() const;
  void commit(StepPlan& plan);
  void finish(Request& request, Nanos now);

  SchedulerState state_;
  std::unique_ptr<V1Batching> batching_;
  std::uint64_t step_ = 0;  // number of the last step
};

}  // namespace engine
