#include <hdf5.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "sweeps/definition/sweep.hpp"
#include "workers/rank/protocol.hpp"  // the language of sweeps knows no worker
