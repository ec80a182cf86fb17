// The empirical distribution of observed durations, in the three stages of the cache-TTL paper
// (arXiv:2511.02230): an exponential prior of mean 1 s up to 100 calls in all, then all tools
// together, and a tool alone once it has more than 100 calls of its own.
#include <algorithm>
#include <vector>

#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/estimators/config.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::ToolId;
using Samples = std::vector<double>;  // seconds, ascending

constexpr Parameter kEnoughCalls = {
    .name = "estimator_calls",
    .least = 0,
    .most = 1 << 30,
    .fallback = 100,
    .is_whole = true,
    .unit = "calls",
    .says =
        "A tool's own distribution is used once more than this many calls of it are known; "
        "until then that of all tools."};

class ToolCdf final : public GapEstimator {
 public:
  explicit ToolCdf(const EstimatorConfig& config)
      : enough_calls_(static_cast<std::size_t>(value_of(kEnoughCalls, config.parameters))) {}

  void learn(const GapCall& call, Nanos duration) override {
    if (call.tool == ToolId::none) return;
    insert(by_tool_[call.tool], engine::to_seconds(duration));
    insert(all_, engine::to_seconds(duration));
  }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    if (call.tool == ToolId::none) return std::nullopt;
    if (all_.size() <= enough_calls_)
      return GapForecast::exponential(std::chrono::seconds{1}, Evidence::prior);
    const Samples* of_tool = by_tool_.find(call.tool);
    if (of_tool != nullptr && of_tool->size() > enough_calls_)
      return GapForecast::of_samples(*of_tool, Evidence::tool);
    return GapForecast::of_samples(all_, Evidence::pooled);
  }

 private:
  static void insert(Samples& samples, double seconds) {
    samples.insert(std::ranges::upper_bound(samples, seconds), seconds);
  }

  std::size_t enough_calls_;
  Samples all_;
  ById<ToolId, Samples> by_tool_;
};

}  // namespace

EstimatorEntry tool_cdf_estimator() {
  return {"tool_cdf", EstimatorEntry::makes<ToolCdf>, {kEnoughCalls}};
}

}  // namespace policies
