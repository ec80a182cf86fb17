#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/step/transfer_queue.hpp"

namespace engine {

enum class ScheduleKind : std::uint8_t { fresh, resumed, running };

/// One request's share of a step.
struct ScheduledRequest {
  Request* request;
  ScheduleKind kind;
  int num_tokens;  // tokens to compute, positions [computed_before, computed_before + num_tokens)
  int computed_before;  // tokens with KV before the step; the prefix hit when fresh or resumed
  int num_new_blocks;   // blocks newly appended to the table
  bool samples;         // this step computes the last known token, so it generates one
  bool decode;          // its one token is generated output
  int in_flight = 0;   // its tokens in flight before the step; they precede the one that it samples
  int recomputed = 0;  // of num_tokens, prefill that was computed before and evicted
};

/// Why a step stopped admitting requests.
enum class StopReason : std::uint8_t {
  none,               // nothing left waiting
  token_budget,       // max_num_batched_tokens used up
  kv_insufficient,    // not enough blocks for the next chunk of the queue's head
  max_seqs,           // max_num_seqs requests are running
  sequence_reserved,  // the head's whole sequence does not fit
  chunking_off,       // the head's prompt exceeds the budget left and may not be split
  preempted,          // a request was preempted: nothing is admitted in this step
  active_programs,    // only turns of programs that the admission holds back wait
};

/// What one engine iteration computes. Requests are in service order: running first, then
/// admissions.
struct StepPlan {
  std::uint64_t step = 0;  // counts from 1
  std::vector<ScheduledRequest> scheduled;
  std::vector<Request*> preempted;
  std::vector<Request*> deferred;  // passed over until copies have ended
  int total_tokens = 0;
  int token_budget = 0;  // most tokens that the step may compute
  StopReason stop = StopReason::none;
  /// Whether every request that may be served has been admitted.
  bool admitted_all() const {
    return stop == StopReason::none || stop == StopReason::active_programs;
  }
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

/// KV events of the archive: each has its counterpart in sweeps/tables/schema.hpp.
enum class KvEventKind : std::uint8_t {
  pin,
  unpin,
  keep_declined,
  evict,
  preempt,
  store,         // copies to the host were requested
  load,          // copies from the host were requested, or failed
  evict_host,    // content of the host tier was evicted
  drop,          // the loaded KV of a waiting request was dropped
  ttl_decision,  // a time to live was computed, with either outcome
  prefetch,      // a load ahead of its turn: requested, refused, done or cancelled
  demote,        // the copy on the GPU was evicted, the one on the host stays
  swap_out,      // KV of a preempted request was copied to the host
  swap_in,       // KV of a preempted request was copied back
  load_failed,   // blocks of a load did not arrive intact
};
enum class KvReason : std::uint8_t {
  none,
  // pin and keep_declined: what decided the retention policy at the end of a turn
  known_tool,   // the tool's mean duration is within the threshold
  unseen_tool,  // no duration of this tool is known yet
  slow_tool,    // the tool's mean duration exceeds the threshold
  no_tool,      // no tool call could be read from the answer
  last_turn,    // the client announced that no turn follows
  // unpin
  ttl,             // the time to live ended
  handoff,         // the next turn holds the blocks itself
  replaced,        // the job finished another turn
  job_end,         // the job ended
  pressure_run,    // a running request could not allocate a block
  pressure_admit,  // nothing was running and the head of the queue could not be admitted
  // preempt
  out_of_blocks,
  // pin and keep_declined of policies that weigh costs
  cold_start,  // too few durations are known
  utility,     // by expected benefit
  rent,        // keeping costs less, or more, than recomputing
  // store
  write_through,    // computed by earlier steps
  tail,             // blocks that the turn's last step completed
  before_eviction,  // blocks about to be evicted
  swapped_out,      // of a preempted request
  // load
  demand,       // a request waits for it
  load_failed,  // `blocks` of them did not arrive intact
  // evict_host: no free slot
  read,    // the content was looked up after it was stored
  unread,  // the content was never looked up
  // store and evict_host of pools that do not distinguish these
  capacity,
  // prefetch: the forecast behind a load that no request waits for yet, and its outcome
  predicted,      // the turn is expected
  deadline,       // the load must start to arrive with the turn
  late,           // the turn arrived first, and waits for the rest
  early,          // loaded and held well before the turn
  misprediction,  // the turn did not arrive when it was expected
  cancelled,      // cancelled in flight
  no_room,        // refused: no blocks, or no slots
  // swap_out
  partial,  // the first blocks only
  // demote and keep_declined of policies that compare wasted memory
  waste,
  // pin and keep_declined: from here on, the reasons that rules declare (policies/names.hpp)
  of_rules,
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
