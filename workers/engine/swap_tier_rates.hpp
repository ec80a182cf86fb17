#pragma once
#include <span>

#include "workers/engine/clock.hpp"

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

/// What moving KV and computing it again take here, as far as steps have shown.
class SwapRates {
 public:
  /// So many blocks went one way while everybody waited.
  void copied(int blocks, Nanos took) { copies_.add(blocks, to_seconds(took)); }
  /// A step that computed so many tokens of each of these prompts, beside so many decodes. What the
  /// step takes longer than decodes alone is the prompts', in proportion to their tokens: who
  /// computes again in company pays a part of what the step costs by itself.
  void computed(std::span<const int> prompts, int decodes, Nanos took);

  /// Whether `blocks`, behind `queued` others on the link, are out and in again before `tokens` are
  /// computed again. True while copies have not been seen: then this one shows what they take.
  bool swap_is_cheaper(int blocks, int queued, int tokens) const;

 private:
  FadingLine copies_, prefills_;
  double decode_s_ = 0;  // of a step without prompts, the last ones most
};

}  // namespace engine
