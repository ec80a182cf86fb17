#pragma once
#include "workers/engine/step/pin_rules.hpp"
#include "workers/engine/step/step.hpp"

namespace engine {

/// What happens to a turn's KV while its tool runs.
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
