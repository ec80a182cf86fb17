#include <hdf5.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "sweeps/spec.hpp"
#include "workers/protocol.hpp"  // the language of sweeps knows no worker
