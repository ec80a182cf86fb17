#pragma once
#include <cmath>

#include "workers/engine/base/clock.hpp"

namespace engine {

/// Exponentially weighted mean: the weight of an observation halves with every half-life.
class FadingMean {
 public:
  explicit FadingMean(Nanos half_life) : half_life_s_(to_seconds(half_life)) {}

  void add(double value, Nanos now, double weight = 1) {
    const double kept = std::exp2(-to_seconds(now - last_) / half_life_s_);
    sum_ = sum_ * kept + value * weight;
    weight_ = weight_ * kept + weight;
    last_ = now;
  }
  /// 0 before the first observation.
  double value() const { return weight_ > 0 ? sum_ / weight_ : 0; }

 private:
  double half_life_s_;
  double sum_ = 0, weight_ = 0;
  Nanos last_{0};
};

}  // namespace engine
