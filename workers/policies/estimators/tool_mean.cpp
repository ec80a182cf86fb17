// The mean duration of a tool over all of its calls, as in Continuum's published code: a single
// number, and no forecast for a tool that has not returned yet.
#include <memory>
#include <vector>

#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::ToolId;

class ToolMean final : public GapEstimator {
 public:
  void learn(const GapCall& call, Nanos duration) override {
    if (call.tool == ToolId::none) return;
    const auto at = static_cast<std::size_t>(call.tool);
    if (at >= sums_.size()) sums_.resize(at + 1);
    sums_[at].total += duration;
    ++sums_[at].calls;
  }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const auto at = static_cast<std::size_t>(call.tool);
    if (call.tool == ToolId::none || at >= sums_.size() || sums_[at].calls == 0)
      return std::nullopt;
    return GapForecast::around(sums_[at].total / sums_[at].calls, kSpreadOfOneNumber,
                               Evidence::tool);
  }

 private:
  struct Sum {
    Nanos total{0};
    int calls = 0;
  };
  std::vector<Sum> sums_;  // by tool
};

}  // namespace

std::unique_ptr<GapEstimator> make_tool_mean_estimator(const EstimatorConfig&) {
  return std::make_unique<ToolMean>();
}

}  // namespace policies
