#pragma once
#include <span>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/step.hpp"

namespace engine {

/// A straight line fitted to points that arrive one by one, with exponentially fading weights:
/// seconds over a count.
class FadingLine {
 public:
  void add(double x, double y);
  bool known() const { return weight_ > 0; }
  /// The line passes through the origin while all points have the same x. Never below 0.
  double at(double x) const;

 private:
  double weight_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;  // sums
};

/// Durations of prompts and decodes, estimated from the steps seen.
class ComputeRates {
 public:
  /// Records a step that computed these numbers of prompt tokens, one per prompt, beside `decodes`
  /// decodes. The time beyond that of the decodes alone is charged to the prompts in proportion to
  /// their tokens, so prompts of one step share its fixed cost.
  void computed(std::span<const int> prompts, int decodes, Nanos took);
  void computed(const StepPlan& plan, Nanos took);

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
