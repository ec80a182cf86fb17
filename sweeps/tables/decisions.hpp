#pragma once
#include "sweeps/tables/enum_names.hpp"

namespace sweep {

// Decisions of an engine, under the names of archives. Archives hold positions: new enumerators
// come last.

/// Why a step stopped admitting requests.
SWEEP_ENUM(StopReason,
           none,             // nothing left waiting
           tok_budget,       // max_num_batched_tokens used up
           kv_insufficient,  // not enough blocks for the next chunk of the queue's head
           max_seqs,         // max_num_seqs requests are running
           isl_reserve,      // the head's whole sequence does not fit
           chunk_off,        // the head's prompt exceeds the budget left and may not be split
           preempted,        // a request was preempted: nothing is admitted in this step
           active_programs)  // only turns of programs that the admission holds back wait

enum class SchedKind : std::int8_t { fresh, resumed, running, preempted };
inline std::span<const std::string_view> enum_names(SchedKind) {
  static constexpr std::string_view kNames[] = {"new", "resumed", "running", "preempted"};
  return kNames;
}

SWEEP_ENUM(KvEventKind, pin, unpin, keep_declined,
           ttl_decision,  // a time to live was computed, with either outcome
           evict_gpu,
           evict_host,  // content of the host tier was evicted
           preempt,
           store,        // copies to the host were requested
           load,         // copies from the host were requested, or failed
           prefetch,     // a load ahead of its turn: requested, refused, done or cancelled
           demote,       // the copy on the GPU was evicted, the one on the host stays
           drop,         // the loaded KV of a waiting request was dropped
           swap_out,     // KV of a preempted request was copied to the host
           swap_in,      // KV of a preempted request was copied back
           load_failed,  // blocks of a load did not arrive intact
           disk_store,   // writes of content that host memory evicts were requested
           disk_load,    // reads from the disk into host memory were requested
           evict_disk)   // content of the disk was evicted

SWEEP_ENUM(KvReason, none,
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
           out_of_blocks,   // preempt
           capacity,  // evict_disk, and store and evict_host of pools that do not distinguish read
                      // from unread
           // store
           write_through,    // computed by earlier steps
           before_eviction,  // blocks about to be evicted
           demand,           // load: a request waits for it
           // prefetch: the forecast behind a load that no request waits for yet, and its outcome
           predicted,  // the turn is expected
           late,       // the turn arrived first, and waits for the rest
           early,      // loaded and held well before the turn
           cancelled,  // cancelled in flight
           // pin and keep_declined of policies that weigh costs
           cold_start,  // too few durations are known
           utility,     // by expected benefit
           rent,        // keeping costs less, or more, than recomputing
           tail,        // store: blocks that the turn's last step completed
           // evict_host: no free slot
           read,           // the content was looked up after it was stored
           unread,         // the content was never looked up
           load_failed,    // load: `blocks` of them did not arrive intact
           partial,        // swap_out: the first blocks only
           deadline,       // prefetch: the load must start to arrive with the turn
           misprediction,  // prefetch: the turn did not arrive when it was expected
           no_room,        // prefetch: refused: no blocks, or no slots
           waste,          // demote and keep_declined of policies that compare wasted memory
           swapped_out)    // store: of a preempted request

/// From here on, the reasons of pin and keep_declined that rules declare (policies/names.hpp).
inline constexpr KvReason kReasonsOfRules{static_cast<std::int8_t>(KvReason::swapped_out) + 1};

}  // namespace sweep
