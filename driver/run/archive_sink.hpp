#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "driver/farm/farm.hpp"
#include "driver/farm/progress.hpp"
#include "driver/farm/space_wait.hpp"
#include "driver/plan/plan.hpp"
#include "sweeps/commits/archive.hpp"

namespace driver {

/// Expected run time in seconds of each selected cell of the plan, by plan index, without the keys
/// in `done`. Reads or generates the workloads, so wrong input is refused before anything is
/// written.
std::map<int, double> expected_seconds(const Plan& plan, const std::set<std::string>& done);

/// The cells left to run: selected, able to run, and without a result at the plan's level.
/// Quarantined cells only with `retry_quarantined`.
std::vector<CellTask> tasks_left(const Plan& plan, const std::map<int, double>& expected_s,
                                 const sweep::Archive& archive, bool retry_quarantined);

/// The workers of a run; one_child: the only worker is a process that ends with the driver's.
enum class Crew { several, one_child };

/// Writes what the farm reports into the archive. Waits for space when the disk is full. Cells that
/// still run because an exception ended the farm stay planned.
std::unique_ptr<FarmSink> archive_sink(const Plan& plan, const std::string& profiles,
                                       sweep::Archive& archive, const SpaceWait& with_space,
                                       ProgressLine& progress, Crew crew = Crew::several);

}  // namespace driver
