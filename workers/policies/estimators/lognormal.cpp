// Models the logarithms of durations as normal, per tool. The estimate of a tool with few calls is
// shrunk toward that of all tools together, which is shrunk toward a wide prior around 1 s: the
// posterior mean of a normal-inverse-gamma model with a prior that weighs as much as a few calls.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"

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
    const auto at = static_cast<std::size_t>(call.tool);
    if (at >= by_tool_.size()) by_tool_.resize(at + 1);
    const double x = std::log(engine::to_seconds(duration));
    by_tool_[at].add(x);
    all_.add(x);
  }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    if (call.tool == ToolId::none) return std::nullopt;
    constexpr Normal kPrior{0.0, 1.0};
    constexpr double kPriorCalls = 1, kPooledCalls = 4;
    Normal fit = all_.posterior(kPrior, kPriorCalls);
    Evidence evidence = all_.n == 0 ? Evidence::prior : Evidence::pooled;
    const auto at = static_cast<std::size_t>(call.tool);
    if (at < by_tool_.size() && by_tool_[at].n > 0) {
      fit = by_tool_[at].posterior(fit, kPooledCalls);
      evidence = Evidence::tool;
    }
    return GapForecast::lognormal(fit.mean, std::sqrt(fit.variance), evidence);
  }

 private:
  LogSums all_;
  std::vector<LogSums> by_tool_;
};

}  // namespace

std::unique_ptr<GapEstimator> make_lognormal_estimator(const EstimatorConfig&) {
  return std::make_unique<LognormalPerTool>();
}

}  // namespace policies
