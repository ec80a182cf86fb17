#pragma once
#include <deque>
#include <span>
#include <vector>

#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/scheduler/config.hpp"
#include "workers/engine/scheduler/pins.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/step.hpp"

namespace engine {

/// A step while its plan is made.
struct Step {
  StepPlan& plan;
  Nanos now;
  bool splits_prompts;         // a prompt may be computed in part
  int prefill_threshold;       // most tokens of one prefill; 0: limited by the token budget alone
  bool out_of_blocks = false;  // a running request needed blocks of preempted ones

  int budget_left() const { return plan.token_budget - plan.total_tokens; }
  void add(Request& request, SchedKind kind, int num_tokens, int num_new_blocks);
};

/// The requests of the scheduler by state, and how they change it, whatever the batching.
struct SchedulerState {
  const SchedulerConfig config;
  KvCache& kv;
  QueueOrder& order;  // waiting requests, among them the suspended and the loaded ones
  Pins& pins;
  HostTier& tier;
  EvictionOrder* eviction = nullptr;  // null: the block released first
  RunningList running{};              // in order of admission
  RunningList suspended{};  // preempted requests that still hold blocks, in order of preemption
  LoadingList loading{};    // with a load, until they are admitted; 0.26: also those passed over

  // With a connector: steps that compute, and blocks that they may write although freed by then.
  struct LateRelease {
    std::uint64_t batch;
    std::vector<BlockId> blocks;
  };
  std::uint64_t launched = 0, applied = 0;
  std::deque<LateRelease> late{};
  /// Whether a step in flight computes for the request, and its blocks must stay until it is over.
  bool fenced(const Request& request) const {
    return request.in_batch > applied && tier.connector() != nullptr;
  }
  /// Frees the request's blocks, or keeps them until the steps in flight are over.
  void free_blocks(Request& request) {
    if (!fenced(request)) return kv.release(request);
    late.push_back({launched, kv.take_blocks(request)});
  }
  /// A step that computes something is over.
  void on_applied();

  /// Removes a waiting request from the queue, and from the list that it is in.
  void leave_queue(Request& request);
  /// The request has got blocks of its own.
  void on_admitted(const Request& request);
  /// Ends a waiting or running request and frees its blocks.
  void abort(Request& request, Nanos now);

  // Preemption.
  /// Removes the running request from the step and returns it to the queue. Its KV goes to the tier
  /// if the tier keeps it, and is otherwise recomputed. With preempt_by_block it keeps its blocks
  /// until others need them.
  void preempt(Request& victim, Step& step);
  /// Removes a request from the step: returns its share of the token budget, and unregisters the
  /// blocks that it was going to fill.
  void withdraw(Request& request, StepPlan& plan);

  // Each frees blocks that nothing computes with, and returns false when there are none.
  /// Blocks of a load ahead of its turn.
  bool release_prefetched(KvReason pressure, Nanos now);
  /// The last block of the request other than `spared` that was preempted first. Offloads it, or
  /// evicts it where the host has no space.
  bool shrink_suspended(const Request* spared, Nanos now);

  // Loads from the host.
  /// Makes the request wait in `loading`, outside the queue.
  StopReason await_copy(Request& request, Nanos now);
  /// Moves the request from the queue to `loading`, by its order.
  void set_aside(Request& request);
  /// Registers the loaded KV of a request that is considered for the first time since it arrived.
  void take_up(Request& request);
  /// Notes what has arrived. Requests whose KV did not arrive return to the queue.
  void on_loaded(std::span<const LoadedKv> loads, Nanos now);
  /// Handles failed loads of a blocking tier: the requests that would read the missing KV leave the
  /// step, and continue from the KV that they have.
  void on_load_failed(std::span<const LoadedKv> loads, StepPlan& plan);

 private:
  void suspend(Request& victim);
  void return_to_queue(Request& request);
  void truncate_in_step(Request& request, int num_blocks, StepPlan& plan);
};

}  // namespace engine
