#include "workers/engine/base/clock.hpp"

auto now() { return std::chrono::steady_clock::now(); }
