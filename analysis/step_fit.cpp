#include "analysis/step_fit.hpp"

#include <cmath>
#include <unordered_map>

#include "sweeps/schema.hpp"

namespace analysis {

void StepFit::add(const sweep::Table& steps, const sweep::Table& sched) {
  std::unordered_map<std::int64_t, double> kv_tokens;  // by step
  const auto& of = sched.values<std::int64_t>("step");
  const auto& tokens = sched.values<std::int32_t>("tokens");
  const auto& before = sched.values<std::int32_t>("computed_before");
  for (std::size_t i = 0; i < of.size(); ++i)
    if (tokens[i] > 0) kv_tokens[of[i]] += static_cast<double>(before[i]) + tokens[i];
  const auto& step = steps.values<std::int64_t>("step");
  const auto& scheduled = steps.values<std::int32_t>("n_tok");
  const auto& seconds = steps.values<double>("dur_s");
  for (std::size_t i = 0; i < step.size(); ++i)
    if (scheduled[i] > 0) add_step(scheduled[i], kv_tokens[step[i]], seconds[i]);
}

void StepFit::add_step(double tokens, double kv_tokens, double seconds) {
  tokens_.add(tokens, seconds);
  kv_.add(kv_tokens, seconds);
  both_.add(tokens, kv_tokens);
}

/// The normal equations of two variables around their means.
StepPlane StepFit::plane() const {
  const double none = sweep::kNotObserved;
  const double xx = tokens_.xx(), kk = kv_.xx(), xk = both_.xy();
  const double xy = tokens_.xy(), ky = kv_.xy(), yy = tokens_.yy();
  const double determinant = xx * kk - xk * xk;
  if (!(determinant > 1e-9 * xx * kk)) return {none, none, none, none, none};
  const double per_token = (xy * kk - ky * xk) / determinant;
  const double per_kv_token = (ky * xx - xy * xk) / determinant;
  const double left = std::max(0.0, yy - per_token * xy - per_kv_token * ky);
  return {tokens_.mean_y() - per_token * tokens_.mean_x() - per_kv_token * kv_.mean_x(), per_token,
          per_kv_token, yy > 0 ? 1 - left / yy : none,
          std::sqrt(left / static_cast<double>(tokens_.n()))};
}

}  // namespace analysis
