#include "driver/farm/space_wait.hpp"

#include <thread>

#include "sweeps/archive/errors.hpp"
#include "sweeps/text/text.hpp"

namespace driver {

void SpaceWait::operator()(const std::function<void()>& action) const {
  const double pause_s = std::chrono::duration<double>(options_.pause).count();
  const int asked = options_.interruptions();
  for (int pauses = 0;; ++pauses) {
    try {
      return action();
    } catch (const sweep::ArchiveNoSpace& error) {
      if (pauses * pause_s >= options_.longest_s || options_.interruptions() != asked) throw;
      if (pauses == 0)
        options_.say("no space left in " + error.folder + "; waiting for space, --wait-space " +
                     sweep::formatted("%.6g", options_.longest_s));
    }
    options_.on_pause();
    std::this_thread::sleep_for(options_.pause);
  }
}

}  // namespace driver
