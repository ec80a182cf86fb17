#include "sweeps/archive.hpp"
#include "workers/worker.hpp"  // analysis reads archives only
