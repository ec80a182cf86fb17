#pragma once
#include "driver/command_line/options.hpp"

namespace driver {

/// `kvsweep run --until-decided`: repeats of a sweep where the winner is undecided, three first,
/// until each is decided or the repeats or the budget are used up. Returns the exit code.
int run_until_decided(const Options& options);

}  // namespace driver
