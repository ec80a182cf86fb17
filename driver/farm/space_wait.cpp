#include "driver/farm/space_wait.hpp"

#include <thread>

#include "sweeps/files/text.hpp"

namespace driver {

bool SpaceWait::should_retry(Wait& wait, const sweep::ArchiveNoSpace& error) const {
  const double pause_s = std::chrono::duration<double>(options_.pause).count();
  if (wait.pauses * pause_s >= options_.longest_s) return false;
  if (options_.interruptions() != wait.interruptions) return false;
  if (wait.pauses++ == 0)
    options_.say("no space left in " + error.folder + "; waiting for space, --wait-space " +
                 sweep::formatted("%.6g", options_.longest_s));
  options_.on_pause();
  std::this_thread::sleep_for(options_.pause);
  return true;
}

}  // namespace driver
