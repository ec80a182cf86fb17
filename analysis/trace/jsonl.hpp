#pragma once
#include <iosfwd>

#include "analysis/trace/requests.hpp"
#include "analysis/trace/steps.hpp"
#include "sweeps/tables/result.hpp"

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
// All throw std::system_error when a write fails, and std::logic_error when the tables contradict
// each other.

/// A kv_event for every row of /kv_events.
void write_events(const sweep::CellResult& result, std::ostream& out);

}  // namespace analysis
