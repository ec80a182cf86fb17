#pragma once
#include "driver/command_line/options.hpp"

namespace driver {

/// `kvsweep pack` and `kvsweep verify`. They return the exit code.
int run_pack(const Options& options);
int run_verify(const Options& options);

}  // namespace driver
