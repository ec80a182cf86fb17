#pragma once
#include "driver/command_line/options.hpp"
#include "driver/plan/plan.hpp"
#include "workers/rank/channel.hpp"

namespace driver {

// The worker's side of a run, and the driver's messages that begin it.

/// Tells every worker what it will serve. On cuda `model_of` is the encoded job of a cell: workers
/// load the model of that cell before they say hello.
void welcome_workers(worker::MpiChannel& channel, const std::string& backend,
                     const std::string& model_of);

/// Stops workers that have not been welcomed.
void dismiss_workers(worker::MpiChannel& channel);

/// Serves cells until the driver stops this worker. Returns the process's exit code.
int serve_cells(const Options& options, worker::MpiChannel& channel);

}  // namespace driver
