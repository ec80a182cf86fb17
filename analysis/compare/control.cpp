#include "analysis/compare/control.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace analysis {
namespace {

using Values = std::vector<double>;

/// Log ratios by seed; NaN where a value is not positive.
BySeed log_ratios(const BySeed& value, const BySeed& base) {
  BySeed logs;
  for (const auto& [seed, own] : value) {
    const auto other = base.find(seed);
    if (other == base.end()) continue;
    const bool is_positive = own > 0 && other->second > 0;
    logs[seed] = is_positive ? std::log(own / other->second) : sweep::kNotObserved;
  }
  return logs;
}

/// The sum of products of deviations from the means.
double codeviation(const Values& a, const Values& b) {
  const double mean_a = mean(a), mean_b = mean(b);
  return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                               [&](double x, double y) { return (x - mean_a) * (y - mean_b); });
}

/// A value at the mean of the controls: its estimate, and half of its interval.
struct Moved {
  double value, half, slope;
};

Moved moved_to_mean(const Values& measured, const Values& simulated, const Values& controls) {
  const auto n = static_cast<double>(measured.size());
  const double squares = codeviation(simulated, simulated);
  const bool is_fitted = measured.size() >= kFewestFitted && squares > 0;
  const double slope = is_fitted ? codeviation(simulated, measured) / squares : 1;
  const int freedom = static_cast<int>(measured.size()) - (is_fitted ? 2 : 1);
  Values rest(measured.size());
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = measured[i] - slope * simulated[i];
  const double noise = codeviation(rest, rest) / freedom;
  const double shift = mean(controls) - mean(simulated);
  const double leverage = is_fitted ? shift * shift / squares : 0;
  const auto m = static_cast<double>(controls.size());
  const double of_measured = noise * (1 / n + leverage);
  const double of_mean = slope * slope * codeviation(controls, controls) / (m - 1) / m;
  // Each with its own degrees of freedom, of which the simulator's mean has more.
  const double half = std::hypot(student_t_quantile(freedom) * std::sqrt(of_measured),
                                 student_t_quantile(static_cast<int>(m) - 1) * std::sqrt(of_mean));
  return {mean(measured) + slope * shift, half, slope};
}

}  // namespace

std::optional<Controlled> controlled_ratio(const BySeed& value, const BySeed& base,
                                           const BySeed& simulated_value,
                                           const BySeed& simulated_base) {
  const BySeed own = log_ratios(value, base), all = log_ratios(simulated_value, simulated_base);
  Values measured, simulated, controls;
  for (const auto& [seed, log] : all) {
    const auto at = own.find(seed);
    if (at == own.end()) {
      controls.push_back(log);
    } else {
      measured.push_back(at->second);
      simulated.push_back(log);
    }
  }
  if (measured.size() < kFewestControlled || controls.size() < kFewestControls) return {};
  const Moved moved = moved_to_mean(measured, simulated, controls);
  if (std::isnan(moved.half)) return {};
  Controlled controlled;
  controlled.ratio.value = std::exp(moved.value);
  controlled.ratio.interval = {std::exp(moved.value - moved.half),
                               std::exp(moved.value + moved.half)};
  controlled.ratio.repeats = measured.size();
  controlled.controls = controls.size();
  controlled.slope = moved.slope;
  return controlled;
}

}  // namespace analysis
