#pragma once
#include "sweeps/tables/result.hpp"
#include "workers/server/step_log.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Fills /steps, /sched, /evictions and the preemptions of /kv_events with what a server has logged
/// since `zero_s`, and says in a note whose steps they are and what is missing. What the log does
/// not tell (blocks, bytes, where copies stand) is 0 or NaN.
void add_server_steps(const server::StepLog& log, double zero_s, const workload::Workload& workload,
                      sweep::CellResult& result);

}  // namespace worker
