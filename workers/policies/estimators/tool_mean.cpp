// The mean duration of a tool over all of its calls, as in Continuum's published code: a single
// number, and no forecast for a tool that has not returned yet.
#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/estimators/config.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::ToolId;

class ToolMean final : public GapEstimator {
 public:
  void learn(const GapCall& call, Nanos duration) override {
    if (call.tool == ToolId::none) return;
    Sum& sum = sums_[call.tool];
    sum.total += duration;
    ++sum.calls;
  }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const Sum* sum = call.tool == ToolId::none ? nullptr : sums_.find(call.tool);
    if (sum == nullptr || sum->calls == 0) return std::nullopt;
    return GapForecast::around(sum->total / sum->calls, kSpreadOfOneNumber, Evidence::tool);
  }

 private:
  struct Sum {
    Nanos total{0};
    int calls = 0;
  };
  ById<ToolId, Sum> sums_;
};

}  // namespace

EstimatorEntry tool_mean_estimator() { return {"tool_mean", EstimatorEntry::makes<ToolMean>}; }

}  // namespace policies
