#pragma once
#include "workers/cell/experiment.hpp"
#include "workers/server/session.hpp"
#include "workers/server/step_log.hpp"

namespace worker {

/// Plays a load against a server and records what its client sees. The cell's clock starts when
/// the server is ready and its caches are empty. Throws what the session throws, and CellAbandoned.
sweep::CellResult run_server_cell(const ExperimentConfig& config, const Load& load,
                                  server::Session& session, const RunHooks& hooks);

/// Fills /steps, /sched, /evictions and the preemptions and loads of /kv_events with what a server
/// has logged since `zero_s`, adds to /turns and /jobs where their time went and to the figures
/// what follows from steps, and says in a note how they were scheduled and what is missing. What
/// the log does not tell (blocks in use, waits of a step for copies) is 0 or NaN; bytes are 0 where
/// `bytes_per_block` is.
void add_server_steps(const server::StepLog& log, double zero_s, std::int64_t bytes_per_block,
                      const workload::Workload& workload, sweep::CellResult& result);

}  // namespace worker
