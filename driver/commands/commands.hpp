#pragma once
#include "driver/options.hpp"

namespace driver {

// One function a subcommand, each in the file of its name. They return the exit code.
int plan(const Options& options);
int run(const Options& options);
int status(const Options& options);
int check(const Options& options);
int merge(const Options& options);
int compare(const Options& options);
int table(const Options& options);
int export_table(const Options& options);
int fit(const Options& options);
int report(const Options& options);
int trace(const Options& options);
int describe_workload(const Options& options);
int bench(const Options& options);
int claims(const Options& options);
int doctor(const Options& options);
int submit(const Options& options);

}  // namespace driver
