#include "workers/engine/scheduler.hpp"  // the driver sees the top of workers alone
#include "workers/rank/protocol.hpp"
