#pragma once
#include <vector>

#include "sweeps/tables/table.hpp"

namespace worker {

/// Durations of the forward passes of /steps, without waits for copies, and the share due to
/// prefill. Decodes are assumed to add to a mixed step what they take alone: the median of the
/// steps that only decode a batch of that size, or of the nearest size that occurs.
class ForwardTimes {
 public:
  explicit ForwardTimes(const sweep::Table& steps);

  /// For each row of /steps: seconds of prefill in the step.
  const std::vector<double>& prefill_s() const { return prefill_s_; }
  double sum_prefill_s() const { return sum_prefill_s_; }
  double sum_decode_s() const { return sum_decode_s_; }
  /// Coefficient of variation (standard deviation over mean) of the steps that only prefill, or
  /// only decode; NaN with fewer than two.
  double cv_prefill() const { return cv_prefill_; }
  double cv_decode() const { return cv_decode_; }
  int count() const { return count_; }  // forward passes

 private:
  std::vector<double> prefill_s_;
  double sum_prefill_s_ = 0, sum_decode_s_ = 0;
  double cv_prefill_, cv_decode_;
  int count_ = 0;
};

}  // namespace worker
