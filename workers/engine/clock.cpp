#include "workers/engine/clock.hpp"

#include <thread>

namespace engine {
namespace {
Nanos monotonic() { return std::chrono::steady_clock::now().time_since_epoch(); }
}  // namespace

WallClock::WallClock() : origin_(monotonic()) {}
Nanos WallClock::now() const { return monotonic() - origin_; }
void WallClock::wait_until(Nanos t) {
  if (const Nanos left = t - now(); left > Nanos{0}) std::this_thread::sleep_for(left);
}

}  // namespace engine
