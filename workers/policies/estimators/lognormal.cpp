// Models the logarithms of durations as normal, per tool. The estimate of a tool with few calls is
// shrunk toward that of all tools together, which is shrunk toward a wide prior around 1 s: the
// posterior mean of a normal-inverse-gamma model with a prior that weighs as much as a few calls.
#include <algorithm>
#include <cmath>

#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/estimators/config.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::ToolId;

struct Normal {
  double mean, variance;
};

/// Sums of the logarithms of durations.
struct LogSums {
  double n = 0, sum = 0, squares = 0;

  void add(double x) {
    n += 1;
    sum += x;
    squares += x * x;
  }

  /// The posterior after these calls, with `prior` weighing as much as `weight` calls.
  Normal posterior(const Normal& prior, double weight) const {
    if (n == 0) return prior;
    const double mean = sum / n, scatter = std::max(0.0, squares - sum * mean);
    const double apart = mean - prior.mean;
    return {(weight * prior.mean + sum) / (weight + n),
            (weight * prior.variance + scatter + apart * apart * weight * n / (weight + n)) /
                (weight + n)};
  }
};

class LognormalPerTool final : public GapEstimator {
 public:
  void learn(const GapCall& call, Nanos duration) override {
    if (call.tool == ToolId::none) return;
    const double x = std::log(engine::to_seconds(duration));
    by_tool_[call.tool].add(x);
    all_.add(x);
  }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    if (call.tool == ToolId::none) return std::nullopt;
    constexpr Normal kPrior{0.0, 1.0};
    constexpr double kPriorCalls = 1, kPooledCalls = 4;
    Normal fit = all_.posterior(kPrior, kPriorCalls);
    Evidence evidence = all_.n == 0 ? Evidence::prior : Evidence::pooled;
    const LogSums* of_tool = by_tool_.find(call.tool);
    if (of_tool != nullptr && of_tool->n > 0) {
      fit = of_tool->posterior(fit, kPooledCalls);
      evidence = Evidence::tool;
    }
    return GapForecast::lognormal(fit.mean, std::sqrt(fit.variance), evidence);
  }

 private:
  LogSums all_;
  ById<ToolId, LogSums> by_tool_;
};

}  // namespace

EstimatorEntry lognormal_estimator() {
  return {"lognormal", EstimatorEntry::makes<LognormalPerTool>};
}

}  // namespace policies
