#pragma once
#include "driver/command_line/options.hpp"

namespace driver {

// The commands that search. Each returns the exit code.

/// The largest load that each GPU, policy and host memory of a sweep serves within limits.
int capacity(const Options& options);
/// `kvsweep run --until-decided`: repeats of a sweep where the winner is undecided, three first,
/// until each is decided or the repeats or the budget are used up.
int run_until_decided(const Options& options);
int tune(const Options& options);

}  // namespace driver
