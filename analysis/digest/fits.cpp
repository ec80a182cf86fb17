#include "analysis/digest/fits.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analysis/text/text_table.hpp"
#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

/// Below this share of a variable's own variance it counts as a combination of the preceding ones.
constexpr double kLeastPivot = 1e-9;

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

LeastSquares::LeastSquares(std::size_t variables) : variables_(variables) {}

void LeastSquares::add(std::span<const double> x, double y) {
  LeastSquares one(variables_);
  one.n_ = 1;
  std::ranges::copy(x, one.mean_.begin());
  one.mean_[variables_] = y;
  add(one);
}

// The pairwise update of Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances", 1979. Numerically stable, unlike sums of squares.
void LeastSquares::add(const LeastSquares& other) {
  if (other.n_ == 0) return;
  const auto own = static_cast<double>(n_), more = static_cast<double>(other.n_);
  const double all = own + more, weight = own * more / all;
  std::array<double, kMost + 1> apart{};
  for (std::size_t i = 0; i <= variables_; ++i) apart[i] = other.mean_[i] - mean_[i];
  for (std::size_t i = 0; i <= variables_; ++i) {
    mean_[i] += apart[i] * more / all;
    for (std::size_t j = 0; j <= variables_; ++j)
      products_[i][j] += other.products_[i][j] + apart[i] * apart[j] * weight;
  }
  n_ += other.n_;
}

std::optional<Plane> LeastSquares::fit(std::size_t variables) const {
  const std::size_t y = variables_;
  auto left = products_;  // Gaussian elimination, with the right side in column y
  for (std::size_t k = 0; k < variables; ++k) {
    if (!(left[k][k] > kLeastPivot * products_[k][k])) return std::nullopt;
    for (std::size_t i = k + 1; i < variables; ++i) {
      const double factor = left[i][k] / left[k][k];
      for (std::size_t j = k; j <= y; ++j) left[i][j] -= factor * left[k][j];
    }
  }
  Plane plane{mean_[y], std::vector<double>(variables), std::nan(""), 0};
  double unexplained = products_[y][y];
  for (std::size_t k = variables; k-- > 0;) {
    double side = left[k][y];
    for (std::size_t j = k + 1; j < variables; ++j) side -= left[k][j] * plane.slopes[j];
    plane.slopes[k] = side / left[k][k];
    plane.intercept -= plane.slopes[k] * mean_[k];
    unexplained -= plane.slopes[k] * products_[k][y];
  }
  unexplained = std::max(0.0, unexplained);
  if (products_[y][y] > 0) plane.r_squared = 1 - unexplained / products_[y][y];
  plane.rms = std::sqrt(unexplained / static_cast<double>(n_));
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
  using sweep::formatted;
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
