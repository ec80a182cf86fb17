#include "driver/farm/space_wait.hpp"

#include <cstdio>
#include <thread>

namespace driver {

bool SpaceWait::should_retry(Wait& wait, const sweep::ArchiveNoSpace& error) const {
  const double pause_s = std::chrono::duration<double>(options_.pause).count();
  if (wait.pauses * pause_s >= options_.longest_s) return false;
  if (options_.interruptions() != wait.interruptions) return false;
  if (wait.pauses++ == 0) {
    char limit[32];
    std::snprintf(limit, sizeof limit, "%.6g", options_.longest_s);
    options_.say("no space left in " + error.folder + "; waiting for space, --wait-space " + limit);
  }
  options_.on_pause();
  std::this_thread::sleep_for(options_.pause);
  return true;
}

}  // namespace driver
