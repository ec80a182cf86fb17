#pragma once
#include <vector>

#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/pins.hpp"
#include "workers/engine/step/compute_rates.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/step.hpp"

namespace engine {

/// Which requests a step computes.
enum class StepOrder : std::uint8_t {
  running_first,  // all running requests, then admissions, in one batch
  prefill_first,  // admissions alone while there are any, otherwise all running requests
  fixed_batch,    // admissions while nothing runs, then none until all of them have ended
};

struct SchedulerConfig {
  int max_num_batched_tokens = 2048;  // token budget of a step
  int max_num_seqs = 256;             // requests running at once
  int max_model_len = 16384;          // tokens of a sequence, prompt and output
  int long_prefill_token_threshold =
      0;  // most tokens of one prefill chunk; 0: limited by the token budget alone
  bool chunked_prefill = true;
  int chunk_tokens = 0;  // token budget of steps that may split prompts; 0: max_num_batched_tokens
  bool adaptive_chunking = false;     // split prompts only in steps in which they would take longer
                                      // than the decodes, by steps seen
  bool reserve_full_sequence = true;  // admit only when the whole current sequence fits
  /// As in vLLM 0.4.2's block manager V1: a sequence gets all its blocks when it is admitted, and
  /// continues only while a block is free for it, needed or not.
  bool blocks_ahead = false;
  int watermark_blocks = 0;       // blocks that admissions leave free while anything runs
  int buffer_output_tokens = 0;   // fixed batches: output tokens in a sequence's buffer; 0: as many
                                  // as max_model_len allows
  bool preempt_by_block = false;  // a preempted request is evicted block by block
  StepOrder step_order = StepOrder::running_first;
};

/// Decides what each step computes: continuous batching over a paged KV cache, with chunked
/// prefill, prefix caching and preemption by recompute. Makes the decisions of vLLM's V1 scheduler
/// (synchronous scheduling).
///
/// Running requests come first. The rest of the token budget goes to the waiting queue, strictly
/// from its head. The QueueOrder decides the order of service and the victims, the retention policy
/// decides about pins, and the tier about KV in host memory. A request with a host hit allocates
/// blocks, waits in `loading` until the KV is copied, and returns to the queue as `loaded`. It
/// keeps its blocks there unless nothing could run otherwise.
class Scheduler {
 public:
  Scheduler(const SchedulerConfig& config, KvCache& kv, QueueOrder& order, Pins& pins,
            HostTier& tier);

  const RunningList& running() const { return running_; }
  const LoadingList& loading() const { return loading_; }
  const LoadingList& loaded() const { return loaded_; }
  /// Preempted requests that still hold their first blocks.
  const RunningList& suspended() const { return suspended_; }
  /// Blocks of sequences that ended before the rest of their batch.
  std::span<const BlockId> ended_in_batch() const { return ended_in_batch_; }
  /// Token slots in the blocks of running requests, and of those that ended before their batch,
  /// that hold no KV and get none in the current step.
  int unwritten_slots() const;
  bool idle() const { return running_.empty() && loading_.empty() && order_.size() == 0; }

  void submit(Request& request);
  /// Ends a waiting or running request and frees its blocks.
  void abort(Request& request, Nanos now = Nanos{0});

  /// Returns the requests of finished loads to the queue with the KV that has arrived.
  void on_loaded(std::span<const LoadedKv> loads, Nanos now);
  /// Handles failed loads of a blocking tier: the requests that would read the missing KV leave the
  /// step, and continue from the KV that they have.
  void on_load_failed(std::span<const LoadedKv> loads, StepPlan& plan);

  /// Fills `plan` with the next step. Allocates all blocks that the step needs, and counts its
  /// tokens as computed.
  void schedule(StepPlan& plan, Nanos now);

  /// Applies the result of the step: appends tokens, accounts for time, frees finished requests and
  /// appends them to `finished`. `stall` is the part of the step that waited for copies.
  void apply(const StepPlan& plan, const StepResult& result, Nanos start, Nanos end,
             std::vector<Request*>& finished, Nanos stall = Nanos{0});

 private:
  int budget_left(const StepPlan& plan) const { return plan.token_budget - plan.total_tokens; }
  bool prefill_dominates() const;
  int wanted(const Request& request, int first_token) const;
  void schedule_running_first(StepPlan& plan, Nanos now);
  void schedule_prefill_first(StepPlan& plan, Nanos now);
  void schedule_fixed_batch(StepPlan& plan, Nanos now);
  bool swapped_out_waits() const;
  void schedule_running(StepPlan& plan, Nanos now);
  bool grow(Request& request, int num_tokens, StepPlan& plan, Nanos now);
  bool release_prefetched(KvReason pressure, Nanos now);
  bool may_grow() const;
  void preempt(Request& victim, StepPlan& plan, Nanos now);
  void suspend(Request& victim);
  bool shrink_suspended(const Request* spared, Nanos now);
  void withdraw(Request& request, StepPlan& plan);
  void leave(Request& request);
  void admit_waiting(StepPlan& plan, Nanos now, bool swapped_out_only = false);
  StopReason try_admit(Request& request, StepPlan& plan, Nanos now);
  StopReason try_admit_loaded(Request& request, StepPlan& plan, Nanos now);
  StopReason try_admit_suspended(Request& request, StepPlan& plan, Nanos now);
  StopReason start_load(Request& request, std::span<const BlockId> hits, int tokens, Nanos now);
  StopReason await_copy(Request& request, Nanos now);
  StopReason refusal(const Request& request, const Admission& admission);
  static void record_hits(Request& request, int on_gpu, int from_host);
  void admit(Request& request, StepPlan& plan, int num_tokens, Nanos now);
  int reserved_tokens(const Request& request) const;
  int buffer_tokens(const Request& request) const;
  bool takes_blocks_ahead() const {
    return config_.blocks_ahead || config_.step_order == StepOrder::fixed_batch;
  }
  void take_blocks_ahead(Request& request);
  bool release_held(const Request* head, KvReason pressure, Nanos now);
  bool drop_loaded(const Request* head, KvReason pressure, Nanos now);
  void return_to_queue(Request& request);
  void truncate_in_step(Request& request, int num_blocks, StepPlan& plan);
  bool still_blocked(const Request& request) const;
  void add_to_plan(StepPlan& plan, Request& request, ScheduleKind kind, int num_tokens,
                   int num_new_blocks);
  void commit(StepPlan& plan);
  void finish(Request& request, FinishReason reason, Nanos now);
  void end_in_batch(Request& request);

  // The last refusal for lack of blocks, remembered so that a blocked head is not looked up again
  // in every step.
  struct Blocked {
    const Request* request = nullptr;
    RequestId id{};
    std::uint64_t until_change = 0;
  };

  SchedulerConfig config_;
  KvCache& kv_;
  QueueOrder& order_;
  Pins& pins_;
  HostTier& tier_;
  RunningList running_;
  RunningList suspended_;  // preempted requests that still hold blocks, in order of preemption
  LoadingList loading_, loaded_;
  Blocked blocked_;
  ComputeRates rates_;          // adaptive chunking: durations of steps
  bool splits_prompts_ = true;  // in the current step
  bool batch_open_ = false;     // fixed batches: more requests may join
  std::vector<BlockId> ended_in_batch_;
  int unwritten_in_ended_ = 0;  // slots
  bool took_blocks_ = false;    // the current step took blocks from suspended requests
};

}  // namespace engine
