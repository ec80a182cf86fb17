#include "analysis/digest/fits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_map>

#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

/// Below this pivot a variable counts as a linear combination of the preceding ones.
constexpr double kLeastPivot = 1e-9;

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

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

struct Work {
  double kv_tokens = 0, pairs = 0;
};

std::unordered_map<std::int64_t, Work> work_by_step(const sweep::Table& sched) {
  std::unordered_map<std::int64_t, Work> work;
  const auto& step = sched.values<std::int64_t>("step");
  const auto& tokens = sched.values<std::int32_t>("tokens");
  const auto& before = sched.values<std::int32_t>("computed_before");
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (tokens[i] <= 0) continue;
    const double n = tokens[i], behind = before[i];
    Work& all = work[step[i]];
    all.kv_tokens += behind + n;
    if (tokens[i] > 1) all.pairs += n * (behind + (n + 1) / 2);
  }
  return work;
}

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

void StepFit::add(const sweep::Table& steps, const sweep::Table& sched, int span) {
  constexpr double kPause_s = 1e-3;
  auto work = work_by_step(sched);
  const auto& step = steps.values<std::int64_t>("step");
  const auto& scheduled = steps.values<std::int32_t>("n_tok");
  const auto& duration = steps.values<double>("dur_s");
  const auto& stall = steps.values<double>("stall_s");
  const auto& start = steps.values<double>("t_s");
  std::array<double, count> sum{};
  double seconds = 0, end = 0;
  int summed = 0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (scheduled[i] <= 0) continue;
    if (start[i] - end > kPause_s) {
      sum = {};
      seconds = summed = 0;
    }
    end = start[i] + duration[i];
    const Work& all = work[step[i]];
    sum[tokens] += scheduled[i];
    sum[kv_tokens] += all.kv_tokens;
    sum[pairs] += all.pairs;
    seconds += duration[i] - (std::isnan(stall[i]) ? 0 : stall[i]);
    if (++summed < span) continue;
    for (double& each : sum) each /= span;
    planes_.add(sum, seconds / span);
    steps_ += span;
    sum = {};
    seconds = summed = 0;
  }
}

std::string step_formula(const Plane& plane) {
  struct Term {
    const char* format;
    double unit;
  };
  static constexpr std::array<Term, StepFit::count> kTerms = {{
      {" + %.2f us x scheduled tokens", 1e6},
      {" + %.2f ns x KV tokens read", 1e9},
      {" + %.1f ps x query-key pairs of prompts", 1e12},
  }};
  std::string text = formatted("step = %.2f ms", plane.intercept * 1e3);
  for (std::size_t i = 0; i < plane.slopes.size(); ++i)
    text += formatted(kTerms[i].format, plane.slopes[i] * kTerms[i].unit);
  return text + formatted("; R2 %.4f", plane.r_squared) +
         formatted(", leaves %.2f ms (root mean square)", plane.rms * 1e3);
}

}  // namespace analysis
