#pragma once
#include <cstdint>

#include "analysis/cell/statistics.hpp"

namespace analysis {

/// A least-squares line in constant memory: keeps the means and the sums of products of the
/// deviations from them. Sums of disjoint sets of points can be added.
class LineSums {
 public:
  void add(double x, double y);
  void add(const LineSums& other);
  std::int64_t n() const { return n_; }
  /// The same line as fit_line() for the same points, including its NaN.
  LineFit fit() const;

 private:
  std::int64_t n_ = 0;
  double mean_x_ = 0, mean_y_ = 0;
  double xx_ = 0, xy_ = 0, yy_ = 0;
};

}  // namespace analysis
