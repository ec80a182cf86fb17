// Rotary frequencies. The plain ones follow RoFormer (Su et al. 2021); llama3 and YaRN (Peng et al.
// 2023) follow modeling_rope_utils.py of Hugging Face transformers, with which the published
// checkpoints are run.
#include "workers/model/config.hpp"

#include <algorithm>
#include <cmath>

namespace model {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

/// Wavelengths above original / low are multiplied by `factor`, those below original / high are
/// kept, and between them the two are interpolated linearly in 1 / wavelength.
double llama3_frequency(double frequency, const RopeScaling& s) {
  const double turns = s.original_max_context * frequency / kTwoPi;  // over the original context
  if (turns < s.low_freq_factor) return frequency / s.factor;
  if (turns > s.high_freq_factor) return frequency;
  const double kept = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1 - kept) * frequency / s.factor + kept * frequency;
}

/// The pair, as a real number, with an angle of `turns` full turns over the original context.
double yarn_pair_of_turns(double turns, const ModelConfig& config) {
  const double context = config.rope_scaling.original_max_context;
  return config.shape.head_dim * std::log(context / (turns * kTwoPi)) /
         (2 * std::log(config.rope_theta));
}

/// Pairs below `low` keep their frequency, pairs above `high` are scaled, with a linear ramp in
/// between.
struct YarnRamp {
  double low;
  double high;
  double stretched(int pair) const { return std::clamp((pair - low) / (high - low), 0.0, 1.0); }
};

YarnRamp yarn_ramp(const ModelConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  const double low = std::max(std::floor(yarn_pair_of_turns(s.beta_fast, config)), 0.0);
  const double high =
      std::min(std::ceil(yarn_pair_of_turns(s.beta_slow, config)), config.shape.head_dim - 1.0);
  return {low, low == high ? high + 0.001 : high};  // the source's guard against 0 / 0
}

double yarn_scale(const RopeScaling& s) {
  if (s.attention_factor != 0) return s.attention_factor;
  return s.factor > 1 ? 0.1 * std::log(s.factor) + 1 : 1;
}

double scaled_frequency(double frequency, int pair, const ModelConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  switch (s.kind) {
    case RopeScaling::Kind::none:
      return frequency;
    case RopeScaling::Kind::llama3:
      return llama3_frequency(frequency, s);
    case RopeScaling::Kind::yarn: {
      const double stretched = yarn_ramp(config).stretched(pair);
      return stretched * frequency / s.factor + (1 - stretched) * frequency;
    }
  }
  return frequency;
}

}  // namespace

RopeTable rope_table(const ModelConfig& config) {
  RopeTable table;
  if (config.architecture == Architecture::opt) return table;
  const int dim = config.shape.head_dim;
  for (int pair = 0; pair < dim / 2; ++pair) {
    const double frequency = std::pow(config.rope_theta, -2.0 * pair / dim);
    table.inverse_frequency.push_back(
        static_cast<float>(scaled_frequency(frequency, pair, config)));
  }
  if (config.rope_scaling.kind == RopeScaling::Kind::yarn)
    table.scale = static_cast<float>(yarn_scale(config.rope_scaling));
  return table;
}

}  // namespace model
