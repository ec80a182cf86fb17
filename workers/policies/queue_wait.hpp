#pragma once
#include <cmath>
#include <deque>

#include "workers/engine/base/clock.hpp"

namespace policies {

/// Mean queue wait of the last turns with evicted KV. With a half-life the mean fades while no KV
/// is evicted, so that a policy that keeps everything sees the queue as short again. Without a
/// half-life it stays at its last value.
class QueueWait {
 public:
  explicit QueueWait(engine::Nanos half_life) : half_life_(half_life) {}

  void add(engine::Nanos waited, engine::Nanos now) {
    waits_.push_back(waited);
    sum_ += waited;
    latest_ = now;
    if (waits_.size() <= kWindow) return;
    sum_ -= waits_.front();
    waits_.pop_front();
  }

  /// In seconds; 0 before the first turn.
  double mean_s(engine::Nanos now) const {
    if (waits_.empty()) return 0;
    const double mean = engine::to_seconds(sum_) / static_cast<double>(waits_.size());
    if (half_life_ <= engine::Nanos{0}) return mean;
    return mean * std::exp2(-engine::to_seconds(now - latest_) / engine::to_seconds(half_life_));
  }

 private:
  static constexpr std::size_t kWindow = 256;  // turns
  engine::Nanos half_life_, sum_{0}, latest_{0};
  std::deque<engine::Nanos> waits_;
};

}  // namespace policies
