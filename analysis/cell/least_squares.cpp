#include "analysis/cell/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace analysis {
namespace {

/// Below this pivot a variable counts as a linear combination of the preceding ones.
constexpr double kLeastPivot = 1e-9;

/// A symmetric matrix of correlations, as the lower triangle of its Cholesky factor.
class Cholesky {
 public:
  explicit Cholesky(std::size_t n) : n_(n), l_(n * n, 0.0) {}
  double& at(std::size_t i, std::size_t j) { return l_[i * n_ + j]; }

  /// Factors in place; false if the matrix is singular within rounding.
  bool factor() {
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t k = 0; k < j; ++k) at(j, j) -= at(j, k) * at(j, k);
      if (!(at(j, j) > kLeastPivot)) return false;
      at(j, j) = std::sqrt(at(j, j));
      for (std::size_t i = j + 1; i < n_; ++i) {
        for (std::size_t k = 0; k < j; ++k) at(i, j) -= at(i, k) * at(j, k);
        at(i, j) /= at(j, j);
      }
    }
    return true;
  }
  void solve(std::vector<double>& b) {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < i; ++k) b[i] -= at(i, k) * b[k];
      b[i] /= at(i, i);
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t k = i + 1; k < n_; ++k) b[i] -= at(k, i) * b[k];
      b[i] /= at(i, i);
    }
  }

 private:
  std::size_t n_;
  std::vector<double> l_;
};

}  // namespace

LeastSquares::LeastSquares(std::size_t variables)
    : mean_(variables + 1, 0.0), products_((variables + 1) * (variables + 1), 0.0) {}

void LeastSquares::add(std::span<const double> x, double y) {
  ++n_;
  std::vector<double> before(x.begin(), x.end());
  before.push_back(y);
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    before[i] -= mean_[i];
    mean_[i] += before[i] / static_cast<double>(n_);
  }
  // Deviation from the mean without the point, times deviation from the mean with it.
  const double left = static_cast<double>(n_ - 1) / static_cast<double>(n_);
  for (std::size_t i = 0; i < mean_.size(); ++i)
    for (std::size_t j = 0; j < mean_.size(); ++j)
      products_[i * mean_.size() + j] += left * before[i] * before[j];
}

std::optional<Plane> LeastSquares::fit(std::size_t variables) const {
  const std::size_t y = mean_.size() - 1;
  const auto scale = [&](std::size_t i) { return std::sqrt(product(i, i)); };
  Cholesky matrix(variables);
  std::vector<double> solution(variables);
  for (std::size_t i = 0; i < variables; ++i) {
    if (!(product(i, i) > 0)) return std::nullopt;
    for (std::size_t j = 0; j <= i; ++j) matrix.at(i, j) = product(i, j) / (scale(i) * scale(j));
    solution[i] = product(i, y) / scale(i);
  }
  if (!matrix.factor()) return std::nullopt;
  matrix.solve(solution);
  Plane plane{mean_[y], {}, std::numeric_limits<double>::quiet_NaN(), 0};
  double left = product(y, y);
  for (std::size_t i = 0; i < variables; ++i) {
    plane.slopes.push_back(solution[i] / scale(i));
    plane.intercept -= plane.slopes[i] * mean_[i];
    left -= plane.slopes[i] * product(i, y);
  }
  left = std::max(0.0, left);
  if (product(y, y) > 0) plane.r_squared = 1 - left / product(y, y);
  plane.rms = std::sqrt(left / static_cast<double>(n_));
  return plane;
}

}  // namespace analysis
