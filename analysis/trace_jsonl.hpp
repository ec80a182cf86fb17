#pragma once
#include <filesystem>
#include <iosfwd>

#include "sweeps/result.hpp"

namespace analysis {

// The trace of a cell as JSON lines, computed from its tables alone: whatever a run writes can be
// written again from the archive. Every step, event, turn and job is there. Times are seconds from
// the cell's own zero; what was not observed is null. A request is called "<job id>:<turn>".
//
// A snapshot shows the moment that /steps describes: after the step's admissions and preemptions,
// before its execution. (The traces that these field names come from take it before scheduling:
// their running set is this one without scheduled_new and scheduled_resumed and with preempted.)
// free_blocks counts what an allocation may take, cached blocks included.
//
// The notes "policy", "cell", "connector" and "block_size" of the cell appear where they are known.
//
// All throw std::system_error when the stream refuses a line, and std::logic_error when the tables
// contradict each other.

/// Per step a step_snapshot, a prefix_cache_lookup for each request scheduled the first time, and a
/// step_decision.
///
/// theoretical_hit is what the turn before left behind: its prompt and output less the last token,
/// which is never computed, in whole blocks, at most the blocks of the prompt less one token; null
/// without a block size. miss_cause tells why less was found: "evicted_gpu" or "evicted_dram" when
/// the job lost blocks since, "none" when nothing is missing, otherwise null.
void write_steps(const sweep::CellResult& result, std::ostream& out);

/// A kv_event for every row of /kv_events.
void write_events(const sweep::CellResult& result, std::ostream& out);

/// A request record for every turn in the order of their ends, then a job record for every job.
void write_requests(const sweep::CellResult& result, std::ostream& out);

/// Writes <prefix>.steps.jsonl, <prefix>.events.jsonl and <prefix>.requests.jsonl: complete, or
/// none of them. Throws std::system_error naming the file that cannot be written.
void write_trace(const sweep::CellResult& result, const std::filesystem::path& prefix);

}  // namespace analysis
