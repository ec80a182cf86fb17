#pragma once
#include <string>

#include "analysis/cell_report.hpp"
#include "driver/drain.hpp"
#include "driver/exit_codes.hpp"
#include "driver/farm.hpp"
#include "driver/options.hpp"
#include "driver/plan.hpp"
#include "driver/progress.hpp"
#include "driver/space_wait.hpp"
#include "sweeps/archive.hpp"
#include "workers/protocol.hpp"

namespace driver {

// What a run is made of, from its options.

/// --archive, or "<sweep name>.h5".
std::string archive_path(const Options& options, const std::string& sweep_name);
/// `signals` must outlive what these two return.
sweep::ArchiveOptions archive_options(const Options& options, const Plan& plan,
                                      const DrainSignals& signals);
FarmOptions farm_options(const Options& options, const std::string& backend,
                         const DrainSignals& signals);

/// Waits as long as --wait-space says, less where the time limit or a signal comes first.
SpaceWait space_wait(const Options& options, const DrainSignals& signals, sweep::Archive& archive,
                     ProgressLine& progress);

/// Throws worker::InputError when --as-sku or --fake-device name no known SKU.
void check_device(const Options& options);

/// What this process says of itself as a worker, its GPU apart. Without one it plays any SKU unless
/// it is told to be one.
worker::Hello worker_hello(const Options& options);

/// A cell of the plan with what the archive has of it.
analysis::CellReport report_of(const PlannedCell& planned, const sweep::CellRecord& record);

/// What the archive says in the end: kIncomplete when the result of a cell that the farm counts as
/// done is not there, kOk when every selected cell has one. Failures of earlier runs that were not
/// repeated count.
ExitCode run_code(const FarmResult& result, const Plan& plan, const sweep::Archive& archive);

}  // namespace driver
