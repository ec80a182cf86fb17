#pragma once
#include "driver/command_line/options.hpp"

namespace driver {

/// `kvsweep twin SWEEP.toml --archive A.h5`: writes the sweep for sim and cuda with the sizes that
/// the servers of the archive's cells reported. Returns the exit code.
int write_twin(const Options& options);

}  // namespace driver
