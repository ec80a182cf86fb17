#pragma once
#include <string>

#include "driver/command_line/failure.hpp"
#include "driver/command_line/options.hpp"
#include "driver/farm/drain.hpp"
#include "driver/farm/farm.hpp"
#include "driver/farm/progress.hpp"
#include "driver/farm/space_wait.hpp"
#include "driver/plan/plan.hpp"
#include "sweeps/commits/archive.hpp"
#include "workers/rank/protocol.hpp"

namespace driver {

// Builds the parts of a run from its options.

/// --archive, or "<sweep name>.h5".
std::string archive_path(const Options& options, const std::string& sweep_name);
/// `signals` must outlive the options that these two return.
sweep::ArchiveOptions archive_options(const Options& options, const Plan& plan,
                                      const DrainSignals& signals);
FarmOptions farm_options(const Options& options, const std::string& backend,
                         const DrainSignals& signals);

/// Waits for at most --wait-space; the time limit or a signal ends the wait earlier.
SpaceWait space_wait(const Options& options, const DrainSignals& signals, sweep::Archive& archive,
                     ProgressLine& progress);

/// Says so if this process runs alone although its launcher has more tasks: srun without PMIx
/// starts runs that do not know of each other.
void report_lone_task(const Options& options);

/// Throws worker::InputError when --as-sku or --fake-device name no known SKU.
void check_device(const Options& options);

/// This process's Hello as a worker, without the GPU that it may detect later. With no SKU set by
/// the options it accepts cells of any SKU, unless a GPU is found.
worker::Hello worker_hello(const Options& options);

/// The exit code of a run, checked against the archive: kIncomplete when a cell that the farm
/// counts as done has no result there, kOk when every selected cell has one. Failures of earlier
/// runs that were not retried count.
ExitCode run_code(const FarmResult& result, const Plan& plan, const sweep::Archive& archive);

}  // namespace driver
