#include "workers/engine/step/queue_order.hpp"
#include "workers/workload/trajectory.hpp"  // policies know the engine alone
