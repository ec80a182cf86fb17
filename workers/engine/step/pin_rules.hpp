#pragma once
#include <cstdint>

namespace engine {

/// Which pin is released first when nothing else can run.
enum class PressureVictim : std::uint8_t { latest_job, latest_deadline };

/// Options in which published pinning policies differ.
struct PinRules {
  bool protect_waiting = false;     // an expired pin stays while its job's next turn waits
  bool release_on_handoff = false;  // the pin ends when the next turn is admitted, since that turn
                                    // holds the blocks itself
  PressureVictim pressure_victim = PressureVictim::latest_job;
  double most_of_pool = 1;  // share that all pins together may hold; blocks of several pins count
                            // for each. What is beyond it at the end of a turn is not pinned
};

}  // namespace engine
