#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace analysis {

/// y = intercept + sum over i of slopes[i] * x[i].
struct Plane {
  double intercept = 0;
  std::vector<double> slopes;
  double r_squared = 0;  // NaN where y does not vary
  double rms = 0;        // of what the plane leaves
};

/// What least squares on several variables need to know of their points, in constant memory: the
/// means, and the sums of products of the deviations from them (Welford 1962).
class LeastSquares {
 public:
  explicit LeastSquares(std::size_t variables);
  /// `x` has as many elements as there are variables.
  void add(std::span<const double> x, double y);
  std::int64_t n() const { return n_; }
  /// On the first `variables` alone; nothing where the points do not determine it.
  std::optional<Plane> fit(std::size_t variables) const;

 private:
  double product(std::size_t i, std::size_t j) const { return products_[i * mean_.size() + j]; }

  std::int64_t n_ = 0;
  std::vector<double> mean_;      // of every variable, then of y
  std::vector<double> products_;  // of their deviations, row by row
};

}  // namespace analysis
