#pragma once
#include "workers/cell/experiment.hpp"
#include "workers/server/session.hpp"

namespace worker {

/// Plays a load against a server and records what its client sees. The cell's clock starts when
/// the server is ready and its caches are empty. Throws what the session throws, and CellAbandoned.
sweep::CellResult run_server_cell(const ExperimentConfig& config, const Load& load,
                                  server::Session& session, const RunHooks& hooks);

}  // namespace worker
