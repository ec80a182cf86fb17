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
  double r_squared = 0;  // NaN if y does not vary
  double rms = 0;        // of the residuals
};

/// Least squares on several variables in constant memory: keeps the means, and the sums of products
/// of the deviations from them (Welford 1962).
class LeastSquares {
 public:
  explicit LeastSquares(std::size_t variables);
  /// `x` has as many elements as there are variables.
  void add(std::span<const double> x, double y);
  std::int64_t n() const { return n_; }
  /// The fit on only the first `variables`; empty if the points do not determine it.
  std::optional<Plane> fit(std::size_t variables) const;

 private:
  double product(std::size_t i, std::size_t j) const { return products_[i * mean_.size() + j]; }

  std::int64_t n_ = 0;
  std::vector<double> mean_;      // of every variable, then of y
  std::vector<double> products_;  // sums of products of their deviations, row-major
};

}  // namespace analysis
