#include "analysis/digest/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>

namespace analysis {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

bool has_nan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

}  // namespace

std::vector<double> observed(std::span<const double> values) {
  std::vector<double> kept;
  std::ranges::copy_if(values, std::back_inserter(kept), [](double v) { return !std::isnan(v); });
  return kept;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double percentile(std::span<const double> values, double percent) {
  if (values.empty() || !(percent >= 0 && percent <= 100) || has_nan(values)) return kUndefined;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double position = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

double student_t_tails(double t, int freedom) {
  const double angle = std::atan(std::abs(t) / std::sqrt(freedom));
  const double cosine = std::cos(angle);
  const bool odd = freedom % 2 == 1;
  // Terms cos^k times (k - 1)!! / k!! for even freedom, k!!'s neighbors the other way for odd.
  double term = odd ? cosine : 1, sum = 0;
  for (int k = odd ? 1 : 0; k <= freedom - 2; k += 2) {
    sum += term;
    term *= cosine * cosine * (k + 1) / (k + 2);
  }
  const double inside = std::sin(angle) * sum;
  return std::max(0.0, 1 - (odd ? (angle + inside) * 2 / std::numbers::pi : inside));
}

double student_t_quantile(int freedom) {
  double low = 0, high = 13;  // 12.71 for one degree, less for more
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (student_t_tails(middle, freedom) > 0.05 ? low : high) = middle;
  }
  return high;
}

void LineSums::add(double x, double y) {
  LineSums one;
  one.n_ = 1;
  one.mean_x_ = x;
  one.mean_y_ = y;
  add(one);
}

// The pairwise update of Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances", 1979. Numerically stable, unlike sums of squares.
void LineSums::add(const LineSums& other) {
  if (other.n_ == 0) return;
  const auto own = static_cast<double>(n_), more = static_cast<double>(other.n_);
  const double all = own + more, weight = own * more / all;
  const double dx = other.mean_x_ - mean_x_, dy = other.mean_y_ - mean_y_;
  mean_x_ += dx * more / all;
  mean_y_ += dy * more / all;
  xx_ += other.xx_ + dx * dx * weight;
  xy_ += other.xy_ + dx * dy * weight;
  yy_ += other.yy_ + dy * dy * weight;
  n_ += other.n_;
}

LineFit LineSums::fit() const {
  const auto n = static_cast<std::size_t>(n_);
  if (!(xx_ > 0)) return {kUndefined, kUndefined, kUndefined, n};
  const double slope = xy_ / xx_;
  return {slope, mean_y_ - slope * mean_x_, yy_ > 0 ? xy_ * xy_ / (xx_ * yy_) : kUndefined, n};
}

LineFit fit_line(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) {
    throw std::invalid_argument("a line needs as many x as y, found " + std::to_string(x.size()) +
                                " and " + std::to_string(y.size()));
  }
  LineSums sums;
  for (std::size_t i = 0; i < x.size(); ++i) sums.add(x[i], y[i]);
  return sums.fit();
}

std::vector<double> numbers(const sweep::Column& column) {
  return std::visit(
      [](const auto& data) -> std::vector<double> {
        if constexpr (std::is_same_v<std::decay_t<decltype(data)>, std::vector<std::string>>) {
          return {};
        } else {
          return std::vector<double>(data.begin(), data.end());
        }
      },
      column.data);
}

}  // namespace analysis
