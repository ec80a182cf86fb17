#include "workers/engine/scheduler.hpp"

#include <hdf5.h>      // archives belong to sweeps
#include <sys/stat.h>  // the engine has the standard library alone
#include <vector>

#include "clock.hpp"                    // not from the repository root
#include "sweeps/definition/sweep.hpp"  // the engine knows no sweep
#include "workers/policies/fcfs.hpp"    // and names no policy

// steady_clock in a comment is no clock.
auto start() { return std::chrono::steady_clock::now(); }
const char* seed() { return std::getenv("SEED"); }
