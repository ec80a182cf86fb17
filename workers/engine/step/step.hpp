#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sweeps/tables/decisions.hpp"
#include "workers/engine/base/request.hpp"
#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/step/transfer_queue.hpp"

namespace engine {

using sweep::KvEventKind, sweep::KvReason, sweep::SchedKind, sweep::StopReason;

/// One request's share of a step.
struct ScheduledRequest {
  Request* request;
  SchedKind kind;
  int num_tokens;  // tokens to compute, positions [computed_before, computed_before + num_tokens)
  int computed_before;  // tokens with KV before the step; the prefix hit when fresh or resumed
  int num_new_blocks;   // blocks newly appended to the table
  bool samples;         // this step computes the last known token, so it generates one
  bool decode;          // its one token is generated output
  int in_flight = 0;   // its tokens in flight before the step; they precede the one that it samples
  int recomputed = 0;  // of num_tokens, prefill that was computed before and evicted
};

/// The work of one engine iteration. Requests are in service order: running first, then
/// admissions.
struct StepPlan {
  std::uint64_t step = 0;  // counts from 1
  std::vector<ScheduledRequest> scheduled;
  std::vector<Request*> preempted;
  std::vector<Request*> deferred;  // passed over until copies have ended
  int total_tokens = 0;
  int token_budget = 0;  // most tokens that the step may compute
  StopReason stop = StopReason::none;
};

/// Breakdown of a step's time on a device.
struct StepSplit {
  Nanos launch;  // host: building arrays, enqueuing copies and kernels
  Nanos device;  // from the first copy to the last kernel
  Nanos wait;    // host: from the last launch until the sampled tokens arrive
};

struct StepResult {
  std::span<const TokenId>
      sampled;  // one per scheduled request with `samples`, in order; empty if all are forced
  Nanos duration{0};
  std::optional<StepSplit> split{};  // set by backends with a device
};

/// A decision about cached KV. One per job and reason in a step, never one per block.
struct KvEvent {
  KvEventKind kind;
  KvReason reason;
  JobId job;
  int turn;
  int blocks;
  JobId by_job;  // evict: the job that allocated the blocks; otherwise the job itself
  int by_turn;
  Nanos deadline{-1};  // pin: when its time to live ends
  Nanos at{0};         // time of the decision
};

/// Record of a step, for recorders. Pointers and spans are valid until the next step.
struct StepTrace {
  const StepPlan* plan = nullptr;
  Nanos start{0};
  Nanos end{0};
  Nanos scheduling{0};  // part of the step spent on planning; 0 in virtual time
  std::optional<StepSplit> split{};
  int num_running = 0;  // after admission
  int num_waiting = 0;
  int num_loading = 0;  // requests with a load in flight
  int num_pins = 0;
  BlockCensus blocks;       // after admission
  int unwritten_slots = 0;  // token slots in allocated blocks that nothing has been written to
  int host_blocks = 0;      // blocks of the host tier with content
  int host_capacity = 0;    // size of the host tier
  TransferStats transfers;  // blocks that arrived since the previous step
  Nanos stall{0};           // part of the step in which all requests waited for copies
  std::span<Request* const> finished;
  std::span<const KvEvent> kv_events;
  std::span<const Eviction> evictions;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_step(const StepTrace& trace) = 0;
};

}  // namespace engine
