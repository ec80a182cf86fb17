#pragma once
#include <cstdint>

#include "analysis/statistics.hpp"

namespace analysis {

/// What a least-squares line needs to know of its points, in constant memory: the means and the
/// sums of products of the deviations from them. Sums of disjoint sets of points can be joined.
class LineSums {
 public:
  void add(double x, double y);
  void add(const LineSums& other);
  std::int64_t n() const { return n_; }
  /// The line that fit_line() finds for the same points, and NaN where it gives NaN.
  LineFit fit() const;

 private:
  std::int64_t n_ = 0;
  double mean_x_ = 0, mean_y_ = 0;
  double xx_ = 0, xy_ = 0, yy_ = 0;
};

}  // namespace analysis
