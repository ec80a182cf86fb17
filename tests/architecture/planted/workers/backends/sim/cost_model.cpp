#include "workers/engine/step/backend.hpp"
#include "workers/model/shape.hpp"
#include "workers/workload/trajectory.hpp"  // a backend sees steps, not jobs
