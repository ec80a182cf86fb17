#include "analysis/cell/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

namespace analysis {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

bool has_nan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

/// Sum of products of the deviations from the means.
double co_deviation(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean(a), mean_b = mean(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum;
}

double percentile_of_sorted(std::span<const double> sorted, double percent) {
  const double position = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
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
  return percentile_of_sorted(sorted, percent);
}

Interval bootstrap_mean_interval(std::span<const double> values, const BootstrapConfig& config) {
  if (values.empty() || config.resamples < 1 || has_nan(values)) return {kUndefined, kUndefined};
  std::mt19937_64 random(config.seed);
  std::vector<double> means;
  for (int resample = 0; resample < config.resamples; ++resample) {
    double sum = 0;
    // Distributions of the standard library differ between implementations; a remainder does not.
    // Its bias is below 2^-32 for any sample that fits into memory.
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random() % values.size()];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::ranges::sort(means);
  const double tail = 50 * (1 - config.confidence);
  return {percentile_of_sorted(means, tail), percentile_of_sorted(means, 100 - tail)};
}

LineFit fit_line(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) {
    throw std::invalid_argument("a line needs as many x as y, found " + std::to_string(x.size()) +
                                " and " + std::to_string(y.size()));
  }
  const double xx = co_deviation(x, x), xy = co_deviation(x, y), yy = co_deviation(y, y);
  if (!(xx > 0)) return {kUndefined, kUndefined, kUndefined, x.size()};
  const double slope = xy / xx;
  return {slope, mean(y) - slope * mean(x), yy > 0 ? xy * xy / (xx * yy) : kUndefined, x.size()};
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
