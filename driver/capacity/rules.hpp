#pragma once
#include "analysis/capacity/rows.hpp"
#include "driver/command_line/options.hpp"
#include "sweeps/definition/sweep.hpp"

namespace driver {

/// What is searched for: the sweep's table [capacity] with the command line over it, and the prices
/// and watts that the profiles of its GPUs have. Throws UsageError, or sweep::SpecError for what is
/// wrong with the file.
analysis::CapacityRules rules_of(const sweep::SweepSpec& spec, const Options& options);

}  // namespace driver
