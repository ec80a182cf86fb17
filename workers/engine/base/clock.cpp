#include "workers/engine/base/clock.hpp"

#include <ctime>
#include <thread>

namespace engine {

Nanos monotonic_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

double seconds_until(std::int64_t unix_time) {
  return std::difftime(static_cast<std::time_t>(unix_time), std::time(nullptr));
}

WallClock::WallClock() : origin_(monotonic_now()) {}
Nanos WallClock::now() const { return monotonic_now() - origin_; }
void WallClock::wait_until(Nanos t) {
  if (const Nanos left = t - now(); left > Nanos{0}) std::this_thread::sleep_for(left);
}

}  // namespace engine
