#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workers/engine/kv_cache.hpp"
#include "workers/engine/request.hpp"
#include "workers/engine/transfer_queue.hpp"

namespace engine {

enum class ScheduleKind : std::uint8_t { fresh, resumed, running };

/// One request's share of a step.
struct ScheduledRequest {
  Request* request;
  ScheduleKind kind;
  int num_tokens;  // tokens to compute, positions [computed_before, computed_before + num_tokens)
  int computed_before;  // tokens whose KV is there before the step; prefix hit when fresh or
                        // resumed
  int num_new_blocks;   // blocks newly appended to the table
  bool samples;         // all known tokens are computed with this step, so it generates one
  bool decode;          // the one token is generated output
};

/// Why admission ended in a step.
enum class StopReason : std::uint8_t {
  none,               // nothing left waiting
  token_budget,       // max_num_batched_tokens used up
  kv_insufficient,    // the head's next chunk finds no blocks
  max_seqs,           // max_num_seqs requests run
  sequence_reserved,  // the head's whole sequence does not fit
  chunking_off,       // the head's prompt exceeds the budget left and may not be split
  preempted,          // something was preempted: nothing is admitted in this step
};

/// What one engine iteration computes. Requests are in service order: running first, then
/// admissions.
struct StepPlan {
  std::uint64_t step = 0;  // counts from 1
  std::vector<ScheduledRequest> scheduled;
  std::vector<Request*> preempted;
  int total_tokens = 0;
  int token_budget = 0;  // most tokens that the step may compute
  StopReason stop = StopReason::none;
};

/// Where the time of a step on a device went.
struct StepSplit {
  Nanos launch;  // host: arrays made, copies and kernels enqueued
  Nanos device;  // from the first copy to the last kernel
  Nanos wait;    // host: from the last launch until the sampled tokens are there
};

struct StepResult {
  std::span<const TokenId>
      sampled;  // one per scheduled request with `samples`, in order; empty if all are forced
  Nanos duration{0};
  std::optional<StepSplit> split{};  // of backends with a device
};

/// What the archive tells of KV: each has its counterpart in sweeps/schema.hpp.
enum class KvEventKind : std::uint8_t {
  pin,
  unpin,
  keep_declined,
  evict,
  preempt,
  store,         // copies to the host were asked for
  load,          // copies from the host were asked for, or failed
  evict_host,    // content of the host tier was evicted
  drop,          // a waiting request gave its loaded KV up
  ttl_decision,  // how long to keep was weighed, with whatever outcome
  prefetch,      // a load before its turn arrives: asked for, refused, over or given up
  demote,        // the GPU's copy was given up, the host's stays
  swap_out,      // KV of a preempted request goes to the host
  swap_in,       // and comes back
  load_failed,   // blocks of a load did not arrive whole
};
enum class KvReason : std::uint8_t {
  none,
  // pin and keep_declined: what the retention policy saw at the end of a turn
  known_tool,   // the tool's mean duration is within the threshold
  unseen_tool,  // no duration of this tool is known yet
  slow_tool,    // the tool's mean duration exceeds the threshold
  no_tool,      // no tool call could be read from the answer
  last_turn,    // the client said that no turn follows
  // unpin
  ttl,             // time to live is over
  handoff,         // the next turn holds the blocks itself
  replaced,        // the job finished another turn
  job_end,         // the job is over
  pressure_run,    // a running request could not grow
  pressure_admit,  // nothing ran and the head of the queue could not be admitted
  // preempt
  out_of_blocks,
  // pin and keep_declined of policies that weigh costs
  cold_start,  // too few durations are known
  utility,     // expected benefit
  rent,        // keeping costs less, or more, than computing again
  // store
  write_through,    // computed by earlier steps
  tail,             // completed by the turn's last step
  before_eviction,  // next in line to be evicted
  swapped_out,      // of a preempted request
  // load
  demand,       // a request waits for it
  load_failed,  // `blocks` of it did not arrive whole
  // evict_host: for want of slots
  read,    // had been looked up since it was stored
  unread,  // stored for nothing
  // store and evict_host of pools that do not tell these apart
  capacity,
  // prefetch: the forecast behind a load that no request waits for yet, and its outcome
  predicted,      // the turn is expected
  deadline,       // time to begin, so that it is there when the turn is
  late,           // the turn came first, and waits for the rest
  early,          // there, and held, well before the turn
  misprediction,  // the turn did not come when it was expected
  cancelled,      // given up on the way
  no_room,        // refused: no blocks, or no slots
  // swap_out
  partial,  // the first blocks only
  // demote and keep_declined of policies that compare wasted memory
  waste,
};

/// A decision about cached KV. One per job and reason in a step, never one per block.
struct KvEvent {
  KvEventKind kind;
  KvReason reason;
  JobId job;
  int turn;
  int blocks;
  JobId by_job;  // evict: whose allocation took the blocks; otherwise the job itself
  int by_turn;
  Nanos deadline{-1};  // pin: when its time to live ends
  Nanos at{0};         // when it was decided
};

/// What a step did, for recorders. Pointers and spans are valid until the next step.
struct StepTrace {
  const StepPlan* plan = nullptr;
  Nanos start{0};
  Nanos end{0};
  Nanos scheduling{0};  // part of the step in which it was planned; 0 in virtual time
  std::optional<StepSplit> split{};
  int num_running = 0;  // after admission
  int num_waiting = 0;
  int num_loading = 0;  // requests whose KV is being loaded
  int num_pins = 0;
  BlockCensus blocks;       // after admission
  int unwritten_slots = 0;  // room for tokens in blocks of requests that nothing is written to
  int host_blocks = 0;      // blocks that can be found in host memory
  int host_capacity = 0;    // blocks that host memory has room for
  TransferStats transfers;  // what arrived since the step before
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
