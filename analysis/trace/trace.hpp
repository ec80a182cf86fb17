#pragma once
#include <iosfwd>
#include <span>
#include <string>

#include "sweeps/archive/cells_table.hpp"

namespace analysis {

// The trace of a cell as JSON lines, computed only from its tables, so the trace of a run can be
// written again from the archive. It has every step, event, turn and job. Times are seconds from
// the cell's own zero; null is a value that was not observed. A request is named "<job id>:<turn>".
//
// A snapshot shows the state that /steps describes: after the step's admissions and preemptions,
// before its execution. (The traces that define these field names take it before scheduling: their
// running set is this one without scheduled_new and scheduled_resumed and with preempted.)
// free_blocks counts the blocks that can be allocated, including cached blocks.
//
// The cell's notes "policy", "cell", "connector" and "block_size" are written if they are known.
//
// All throw std::system_error when a write fails, and std::logic_error or sweep::TableError when
// the tables contradict each other.

/// A step_snapshot of each step, a prefix_cache_lookup for each request scheduled for the first
/// time, and a step_decision.
///
/// theoretical_hit is the KV that the preceding turn left: its prompt and output minus the last
/// token, which is never computed, in whole blocks, at most the blocks of the prompt minus one
/// token; null without a block size. miss_cause tells why the hit was smaller: "evicted_gpu" or
/// "evicted_dram" if the job lost blocks since then, "none" if nothing is missing, otherwise null.
void write_steps(const sweep::CellResult& result, std::ostream& out);

/// A kv_event for every row of /kv_events.
void write_events(const sweep::CellResult& result, std::ostream& out);

/// A record for every turn in order of their ends, then a job record for every job.
void write_requests(const sweep::CellResult& result, std::ostream& out);

/// A cell of a trace page. Borrows its record.
struct TracedCell {
  const sweep::CellRecord& cell;
  sweep::CellResult result;
};

/// The data of the trace viewer as JSON: {"kind":"trace","archive":name,"cells":[...]}. A cell has
/// its identity, its notes, and `deflated`: the JSON lines of its steps, events and requests
/// (write_steps() and so on), packed().
///
/// Throws std::logic_error when the tables of a cell contradict each other.
std::string trace_page(const std::string& archive, std::span<const TracedCell> cells);

/// Writes a cell's trace as JSON of the Trace Event Format, which ui.perfetto.dev and
/// chrome://tracing open: a track for the engine with its steps and counters, and one for each job
/// with the parts of its turns' times, which are placed in the order of the viewer's legend, since
/// their lengths are recorded and not their places. Times are microseconds from the cell's zero.
///
/// Throws std::system_error when a write fails.
void write_perfetto(const sweep::CellResult& result, std::ostream& out);

}  // namespace analysis
