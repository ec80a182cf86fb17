#include "analysis/digest/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace analysis {

std::vector<double> observed(std::span<const double> values) {
  std::vector<double> kept;
  std::ranges::copy_if(values, std::back_inserter(kept), [](double v) { return !std::isnan(v); });
  return kept;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
  const double center = mean(values);
  return std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) {
    return sum + (value - center) * (value - center);
  });
}

double percentile(std::span<const double> values, double percent) {
  const bool has_nan = std::ranges::any_of(values, [](double value) { return std::isnan(value); });
  if (values.empty() || !(percent >= 0 && percent <= 100) || has_nan) return std::nan("");
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

std::vector<double> numbers(const sweep::Column& column) {
  return std::visit(
      [](const auto& data) -> std::vector<double> {
        if constexpr (std::is_same_v<std::decay_t<decltype(data)>, std::vector<std::string>>)
          return {};
        else
          return std::vector<double>(data.begin(), data.end());
      },
      column.data);
}

}  // namespace analysis
