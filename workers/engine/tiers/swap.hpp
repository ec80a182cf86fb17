#pragma once
#include <vector>

#include "workers/engine/step/compute_rates.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/tier_events.hpp"
#include "workers/engine/tiers/config.hpp"

namespace engine {

/// Durations of copying KV and of recomputing it, estimated from the steps seen.
class SwapRates : public ComputeRates {
 public:
  /// Records a copy of this many blocks in one direction, for which all requests waited.
  void copied(int blocks, Nanos took) { copies_.add(blocks, to_seconds(took)); }

  /// Whether swapping `blocks` out, behind `queued` others on the link, and in again takes less
  /// time than recomputing `tokens`. True until a copy has been seen, so that the first one is
  /// measured.
  bool swap_is_cheaper(int blocks, int queued, int tokens) const {
    if (!copies_.known() || !knows_prompts()) return true;
    return copies_.at(queued + blocks) + copies_.at(blocks) < prompt_s(tokens);
  }

 private:
  FadingLine copies_;
};

}  // namespace engine
