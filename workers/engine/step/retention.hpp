#pragma once
#include <cstdint>

#include "workers/engine/step/step.hpp"

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

/// The fate of a turn's KV while its tool runs.
struct GapDecision {
  bool pin = false;
  KvReason reason = KvReason::none;
  Nanos deadline{-1};  // end of the pin's time to live
  bool swap = false;   // swap to the host tier if it has room; otherwise the KV is released
};

class RetentionPolicy {
 public:
  virtual ~RetentionPolicy() = default;
  virtual PinRules pin_rules() const { return {}; }
  virtual void on_arrival(const Request& request) = 0;
  /// Called once for each finished turn, before its blocks are released.
  virtual GapDecision on_turn_finish(const Request& request, Nanos now) = 0;
};

}  // namespace engine
