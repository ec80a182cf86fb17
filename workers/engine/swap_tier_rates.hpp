#pragma once
#include "workers/engine/compute_rates.hpp"

namespace engine {

/// What moving KV and computing it again take here, as far as steps have shown.
class SwapRates : public ComputeRates {
 public:
  /// Records a copy of so many blocks one way, for which all requests waited.
  void copied(int blocks, Nanos took) { copies_.add(blocks, to_seconds(took)); }

  /// Whether `blocks`, behind `queued` others on the link, are out and in again before `tokens` are
  /// computed again. True while copies have not been seen: then this one shows what they take.
  bool swap_is_cheaper(int blocks, int queued, int tokens) const;

 private:
  FadingLine copies_;
};

}  // namespace engine
