#pragma once
#include "driver/command_line/options.hpp"

namespace driver {

/// The largest load that each GPU, policy and host memory of a sweep serves within limits. Returns
/// the exit code.
int capacity(const Options& options);

}  // namespace driver
