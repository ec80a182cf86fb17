#pragma once
#include <span>
#include <vector>

#include "workers/engine/clock.hpp"
#include "workers/engine/step.hpp"

namespace engine {

/// A straight line through points that come one after the other; older ones fade. Seconds over a
/// count.
class FadingLine {
 public:
  void add(double x, double y);
  bool known() const { return weight_ > 0; }
  /// Through the origin while all points have the same x; never below 0.
  double at(double x) const;

 private:
  double weight_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;  // sums
};

/// What prompts and decodes take here, as far as steps have shown.
class ComputeRates {
 public:
  /// Records a step that computed so many tokens of each of these prompts beside `decodes` decodes.
  /// The time beyond that of the decodes alone is charged to the prompts in proportion to their
  /// tokens, so prompts of one step share its fixed cost.
  void computed(std::span<const int> prompts, int decodes, Nanos took);
  void computed(const StepPlan& plan, Nanos took);

  bool knows_prompts() const { return prompts_.known(); }
  /// Whether a step without prompts has been seen.
  bool knows_decodes() const { return decode_s_ > 0; }
  /// Seconds that so many tokens of a prompt take.
  double prompt_s(int tokens) const { return prompts_.at(tokens); }
  /// Seconds of a step without prompts, of the last ones most; 0 before the first.
  double decode_s() const { return decode_s_; }

 private:
  FadingLine prompts_;
  double decode_s_ = 0;
  std::vector<int> in_step_;  // tokens of each prompt
};

}  // namespace engine
