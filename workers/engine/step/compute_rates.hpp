#pragma once
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/step.hpp"

namespace engine {

/// A factor on old points at each new one: about 50 points count.
inline constexpr double kFade = 0.98;

/// A straight line fitted to points that arrive one by one, with exponentially fading weights:
/// seconds over a count.
class FadingLine {
 public:
  void add(double x, double y) {
    for (double* sum : {&weight_, &x_, &y_, &xx_, &xy_}) *sum *= kFade;
    weight_ += 1;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    xy_ += x * y;
  }
  bool known() const { return weight_ > 0; }
  /// The line passes through the origin while all points have the same x. Never below 0.
  double at(double x) const {
    if (!known() || x_ <= 0) return 0;
    const double spread = weight_ * xx_ - x_ * x_;
    const double slope = (weight_ * xy_ - x_ * y_) / spread;
    // Points at nearly the same x do not determine a slope.
    if (!(spread > 1e-9 * weight_ * xx_) || slope <= 0) return y_ / x_ * x;
    return std::max(0.0, (y_ - slope * x_) / weight_ + slope * x);
  }

 private:
  double weight_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;  // sums
};

/// Durations of prompts and decodes, estimated from the steps seen.
class ComputeRates {
 public:
  /// Records a step that computed these numbers of prompt tokens, one per prompt, beside `decodes`
  /// decodes. The time beyond that of the decodes alone is charged to the prompts in proportion to
  /// their tokens, so prompts of one step share its fixed cost.
  void computed(std::span<const int> prompts, int decodes, Nanos took) {
    const double step_s = to_seconds(took);
    if (prompts.empty()) {
      decode_s_ = decode_s_ > 0 ? kFade * decode_s_ + (1 - kFade) * step_s : step_s;
      return;
    }
    // Without the duration of decodes alone, the prompts' share is unknown.
    if (decodes > 0 && decode_s_ == 0 && prompts_.known()) return;
    const double prompts_s = std::max(0.0, decodes > 0 ? step_s - decode_s_ : step_s);
    const int tokens = std::accumulate(prompts.begin(), prompts.end(), 0);
    for (const int own : prompts) prompts_.add(own, prompts_s * own / tokens);
  }
  void computed(const StepPlan& plan, Nanos took) {
    if (plan.scheduled.empty()) return;
    in_step_.clear();
    for (const ScheduledRequest& share : plan.scheduled)
      if (!share.decode) in_step_.push_back(share.num_tokens);
    computed(in_step_, static_cast<int>(plan.scheduled.size() - in_step_.size()), took);
  }

  bool knows_prompts() const { return prompts_.known(); }
  /// Whether a step without prompts has been seen.
  bool knows_decodes() const { return decode_s_ > 0; }
  /// Seconds to compute this number of prompt tokens.
  double prompt_s(int tokens) const { return prompts_.at(tokens); }
  /// Seconds of a step without prompts, weighted toward recent steps; 0 before the first.
  double decode_s() const { return decode_s_; }

 private:
  FadingLine prompts_;
  double decode_s_ = 0;
  std::vector<int> in_step_;  // tokens of each prompt
};

}  // namespace engine
