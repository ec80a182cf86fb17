#include "analysis/compare/estimate.hpp"

#include <cmath>

#include "analysis/text/list.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Values = std::vector<double>;

/// The standard error of the mean.
double error_of(const Values& values) {
  const auto n = static_cast<double>(values.size());
  return std::sqrt(deviation(values) / (n - 1) / n);
}

/// The two-sided p of a true value of 0 for an estimate with this standard error.
double p_of(double estimate, double error, int freedom) {
  if (error > 0) return student_t_tails(std::abs(estimate) / error, freedom);
  return estimate == 0 ? 1 : 0;
}

Interval around(double center, double error, int freedom) {
  const double half = student_t_quantile(freedom) * error;
  return {center - half, center + half};
}

int sign_of(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

int freedom_of(std::size_t repeats) { return static_cast<int>(repeats) - 1; }

Values values_of(const BySeed& by_seed) {
  return mapped(by_seed, [](const auto& each) { return each.second; });
}

Values logs_of(const Values& values) {
  return mapped(values, [](double value) { return std::log(value); });
}

bool all_positive(const Values& values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; });
}

struct Samples {
  Values base, value;
  bool paired = true;
};

Samples samples_of(const BySeed& base, const BySeed& value) {
  Samples samples;
  for (const auto& [seed, own] : base) {
    const auto other = value.find(seed);
    if (other == value.end()) continue;
    samples.base.push_back(own);
    samples.value.push_back(other->second);
  }
  if (samples.base.empty()) samples = {values_of(base), values_of(value), false};
  return samples;
}

/// The ratio from its logarithm and the standard error of that.
void from_log(Ratio& ratio, double log, double error) {
  ratio.value = std::exp(log);
  ratio.sign = sign_of(log);
  if (ratio.repeats < kFewestRepeats) return;
  const int freedom = freedom_of(ratio.repeats);
  const Interval interval = around(log, error, freedom);
  ratio.interval = {std::exp(interval.low), std::exp(interval.high)};
  ratio.p = p_of(log, error, freedom);
}

void from_pairs(Ratio& ratio, const Samples& samples) {
  Values logs;
  for (std::size_t i = 0; i < samples.base.size(); ++i)
    logs.push_back(std::log(samples.value[i] / samples.base[i]));
  from_log(ratio, mean(logs), error_of(logs));
}

void from_independent(Ratio& ratio, const Samples& samples) {
  const Values base = logs_of(samples.base), value = logs_of(samples.value);
  from_log(ratio, mean(value) - mean(base), std::hypot(error_of(value), error_of(base)));
}

void from_means(Ratio& ratio, const Samples& samples) {
  const double value = mean(samples.value), base = mean(samples.base);
  ratio.value = value == base ? 1 : value / base;
  ratio.sign = sign_of(value - base);
  if (ratio.repeats < kFewestRepeats || !samples.paired) return;
  Values residuals, differences;
  for (std::size_t i = 0; i < samples.base.size(); ++i) {
    residuals.push_back(samples.value[i] - ratio.value * samples.base[i]);
    differences.push_back(samples.value[i] - samples.base[i]);
  }
  const int freedom = freedom_of(ratio.repeats);
  ratio.p = p_of(value - base, error_of(differences), freedom);
  if (base != 0)
    ratio.interval = around(ratio.value, error_of(residuals) / std::abs(base), freedom);
}

}  // namespace

std::string interval_text(const Interval& interval) {
  if (std::isnan(interval.low)) return "-";
  return four_digits(interval.low) + " .. " + four_digits(interval.high);
}

int seeds_of_next_round(int seeds, int most) {
  return std::min(most, seeds == 0 ? 3 : seeds + std::max(2, seeds / 2));
}

BySeed by_seed(std::span<const ConfiguredCell* const> repeats, std::string_view figure) {
  BySeed values;
  for (const ConfiguredCell* cell : repeats) {
    const double value = cell->figure(std::string(figure));
    if (!std::isnan(value)) values[cell->record->seed] = value;
  }
  return values;
}

Estimate mean_of(const BySeed& by_seed) {
  const Values values = values_of(by_seed);
  Estimate estimate;
  estimate.value = mean(values);
  estimate.repeats = values.size();
  if (values.size() >= kFewestRepeats)
    estimate.interval = around(estimate.value, error_of(values), freedom_of(values.size()));
  return estimate;
}

Ratio ratio_of(const BySeed& value, const BySeed& base) {
  const Samples samples = samples_of(base, value);
  Ratio ratio;
  ratio.paired = samples.paired;
  ratio.repeats = std::min(samples.base.size(), samples.value.size());
  if (ratio.repeats == 0) return ratio;
  if (!all_positive(samples.base) || !all_positive(samples.value))
    from_means(ratio, samples);
  else if (samples.paired)
    from_pairs(ratio, samples);
  else
    from_independent(ratio, samples);
  return ratio;
}

Direction direction_of(std::string_view figure) {
  constexpr std::array<std::string_view, 11> kHigher = {
      "prefix_hit_rate", "host_hit_rate", "disk_hit_rate",  "gpu_hit_tok",
      "host_hit_tok",    "disk_hit_tok",  "tier_benefit_s", "output_tok_per_s",
      "total_tok_s",     "prefill_tok_s", "decode_tok_s"};
  constexpr std::array<std::string_view, 9> kNeither = {
      "jobs",         "turns",       "steps",      "forwards",       "computed_tok",
      "running_peak", "kv_used_pct", "gpu_blocks", "peak_device_mem"};
  if (std::ranges::find(kHigher, figure) != kHigher.end()) return Direction::higher;
  if (std::ranges::find(kNeither, figure) != kNeither.end()) return Direction::neither;
  return Direction::lower;
}

}  // namespace analysis
