#pragma once
#include "driver/options.hpp"
#include "driver/plan.hpp"
#include "workers/channel.hpp"

namespace driver {

// The worker's end of a run, and how the driver opens it.

/// Tells every worker what it will serve. On cuda `model_of` is the job of a cell whose model they
/// load before they say hello.
void welcome_workers(worker::MpiChannel& channel, const std::string& backend,
                     const std::string& model_of);

/// Sends the workers away before they were welcomed.
void dismiss_workers(worker::MpiChannel& channel);

/// Serves cells until the driver has none left. The process's exit code.
int serve_cells(const Options& options, worker::MpiChannel& channel);

}  // namespace driver
