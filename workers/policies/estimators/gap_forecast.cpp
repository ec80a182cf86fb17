#include "workers/policies/estimators/gap_forecast.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace policies {
namespace {

using engine::Nanos;

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// The z with normal_cdf(z) = p, by bisection. 60 steps reach the precision of a double; a faster
/// method is not needed, because this is called only a few times per turn.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double mid = (low + high) / 2;
    (normal_cdf(mid) < p ? low : high) = mid;
  }
  return (low + high) / 2;
}

}  // namespace

GapForecast GapForecast::around(Nanos duration, double log_sigma, Evidence evidence) {
  const double seconds = engine::to_seconds(duration);
  return {Lognormal{std::log(seconds), log_sigma}, seconds, evidence};
}

GapForecast GapForecast::lognormal(double log_mean, double log_sigma, Evidence evidence) {
  return {Lognormal{log_mean, log_sigma}, std::exp(log_mean + log_sigma * log_sigma / 2), evidence};
}

GapForecast GapForecast::exponential(Nanos mean, Evidence evidence) {
  return {Exponential{engine::to_seconds(mean)}, engine::to_seconds(mean), evidence};
}

GapForecast GapForecast::of_samples(std::span<const double> sorted_s, Evidence evidence) {
  const double sum = std::accumulate(sorted_s.begin(), sorted_s.end(), 0.0);
  return {Samples{sorted_s}, sum / static_cast<double>(sorted_s.size()), evidence};
}

Nanos GapForecast::expected() const { return engine::from_seconds(expected_s_ * factor_); }

double GapForecast::probability_within(Nanos t) const {
  const double seconds = engine::to_seconds(t) / factor_;
  return std::visit([&](const auto& shape) { return within(shape, seconds); }, shape_);
}

Nanos GapForecast::quantile(double p) const {
  return engine::from_seconds(
      factor_ * std::visit([&](const auto& shape) { return at_quantile(shape, p); }, shape_));
}

Nanos GapForecast::quantile_after(Nanos elapsed, double p) const {
  const double passed = probability_within(elapsed);
  if (passed >= 1) return elapsed;
  return std::max(elapsed, quantile(passed + p * (1 - passed)));
}

Nanos GapForecast::best_hold(double benefit_s) const {
  if (!(benefit_s > 0)) return Nanos{0};
  // Solves for the unscaled distribution, whose unit of time is factor_ seconds: the benefit is
  // converted to that unit, and the hold back to seconds.
  return engine::from_seconds(
      factor_ *
      std::visit([&](const auto& shape) { return hold(shape, benefit_s / factor_); }, shape_));
}

GapForecast GapForecast::scaled(double factor) const {
  GapForecast result = *this;
  result.factor_ *= factor;
  return result;
}

double GapForecast::within(const Lognormal& shape, double t) {
  if (t <= 0) return 0;
  const double distance = std::log(t) - shape.log_mean;
  // All durations are equal. The tolerance covers the rounding error of the logarithms.
  if (shape.log_sigma == 0) return distance >= -1e-12 ? 1 : 0;
  return normal_cdf(distance / shape.log_sigma);
}

double GapForecast::within(const Exponential& shape, double t) {
  return t <= 0 ? 0 : -std::expm1(-t / shape.mean_s);
}

double GapForecast::within(const Samples& shape, double t) {
  const auto past = std::ranges::upper_bound(shape.sorted_s, t);
  return static_cast<double>(past - shape.sorted_s.begin()) /
         static_cast<double>(shape.sorted_s.size());
}

double GapForecast::at_quantile(const Lognormal& shape, double p) {
  if (shape.log_sigma == 0) return std::exp(shape.log_mean);
  return std::exp(shape.log_mean + shape.log_sigma * normal_quantile(p));
}

double GapForecast::at_quantile(const Exponential& shape, double p) {
  return -shape.mean_s * std::log1p(-p);
}

double GapForecast::at_quantile(const Samples& shape, double p) {
  const auto n = static_cast<double>(shape.sorted_s.size());
  const double rank = std::clamp(std::ceil(p * n), 1.0, n);
  return shape.sorted_s[static_cast<std::size_t>(rank) - 1];
}

/// The worth of a hold t, benefit * Pr[duration <= t] - t, rises while the density at t is above
/// 1 / benefit. So its maximum is where the density falls to 1 / benefit. In ln t that is a
/// quadratic equation, of which the larger root counts. Without a root no hold is worth its cost.
double GapForecast::hold(const Lognormal& shape, double benefit_s) {
  const double mu = shape.log_mean, sigma = shape.log_sigma;
  if (sigma == 0) return benefit_s > std::exp(mu) ? std::exp(mu) : 0;
  const double variance = sigma * sigma;
  const double root =
      variance *
      (variance - 2 * mu - 2 * std::log(sigma * std::sqrt(2 * std::numbers::pi) / benefit_s));
  if (root <= 0) return 0;
  const double t = std::exp(mu - variance + std::sqrt(root));
  return benefit_s * within(shape, t) > t ? t : 0;
}

double GapForecast::hold(const Exponential& shape, double benefit_s) {
  return benefit_s > shape.mean_s ? shape.mean_s * std::log(benefit_s / shape.mean_s) : 0;
}

double GapForecast::hold(const Samples& shape, double benefit_s) {
  const auto n = shape.sorted_s.size();
  double best = 0, best_worth = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + 1 < n && shape.sorted_s[i + 1] == shape.sorted_s[i]) continue;
    const double within_it = static_cast<double>(i + 1) / static_cast<double>(n);
    const double worth = benefit_s * within_it - shape.sorted_s[i];
    if (worth > best_worth) {
      best = shape.sorted_s[i];
      best_worth = worth;
    }
  }
  return best;
}

}  // namespace policies
