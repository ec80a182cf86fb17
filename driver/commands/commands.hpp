#pragma once
#include "driver/options.hpp"

namespace driver {

// One function a subcommand, each in the file of its name. They return the exit code.
int plan(const Options& options);
int run(const Options& options);
int describe_workload(const Options& options);
int bench(const Options& options);

}  // namespace driver
