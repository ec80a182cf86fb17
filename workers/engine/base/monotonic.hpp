#pragma once
#include "workers/engine/base/clock.hpp"

namespace engine {

/// Now, on the clock that a WallClock counts from, which all processes of a machine share:
/// CLOCK_MONOTONIC.
Nanos monotonic_now();

}  // namespace engine
