#include "driver/farm/space_wait.hpp"

#include <thread>

#include "sweeps/archive/errors.hpp"
#include "sweeps/text/text.hpp"

namespace driver {

void SpaceWait::operator()(const std::function<void()>& action) const {
  const double pause_s = std::chrono::duration<double>(pause).count();
  const int asked = interruptions();
  for (int pauses = 0;; ++pauses) {
    try {
      return action();
    } catch (const sweep::ArchiveNoSpace& error) {
      if (pauses * pause_s >= longest_s || interruptions() != asked) throw;
      if (pauses == 0)
        say("no space left in " + error.folder + "; waiting for space, --wait-space " +
            sweep::formatted("%.6g", longest_s));
    }
    on_pause();
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace driver
