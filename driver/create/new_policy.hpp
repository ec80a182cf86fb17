#pragma once
#include "driver/command_line/options.hpp"

namespace driver {

/// `kvsweep new policy NAME`: writes the folder NAME, which must not exist, with a policy as a
/// shared object in C++ or C, or as a Python class. Returns the exit code; throws UsageError and
/// sweep::FileError.
int new_policy(const Options& options);

}  // namespace driver
