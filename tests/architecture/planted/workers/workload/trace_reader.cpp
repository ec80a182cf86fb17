#include <lzma.h>

#include <nlohmann/json.hpp>

#include "workers/engine/base/ids.hpp"
#include "workers/engine/scheduler.hpp"  // only the engine's vocabulary
