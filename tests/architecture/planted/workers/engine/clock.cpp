#include "workers/engine/clock.hpp"

auto now() { return std::chrono::steady_clock::now(); }
