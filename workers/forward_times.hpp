#pragma once
#include <vector>

#include "sweeps/table.hpp"

namespace worker {

/// How long the forward passes of /steps took, without waiting for copies, and how much of that is
/// due to prefill. What decodes add to a mixed step is taken to be what they take alone: the median
/// of those steps that only decode a batch of that size, or of the nearest size that there is.
class ForwardTimes {
 public:
  explicit ForwardTimes(const sweep::Table& steps);

  /// By row of /steps: seconds of prefill in the step.
  const std::vector<double>& prefill_s() const { return prefill_s_; }
  double sum_prefill_s() const { return sum_prefill_s_; }
  double sum_decode_s() const { return sum_decode_s_; }
  /// Standard deviation over mean of the steps that only prefill, or only decode; NaN without two.
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
