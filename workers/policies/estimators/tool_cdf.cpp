// The empirical distribution of observed durations, in the three stages of the cache-TTL paper
// (arXiv:2511.02230): an exponential prior of mean 1 s up to 100 calls in all, then all tools
// together, and a tool alone once it has more than 100 calls of its own.
#include <algorithm>
#include <memory>
#include <vector>

#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"

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
  explicit ToolCdf(double enough_calls) : enough_calls_(static_cast<std::size_t>(enough_calls)) {}

  void learn(const GapCall& call, Nanos duration) override {
    if (call.tool == ToolId::none) return;
    const auto at = static_cast<std::size_t>(call.tool);
    if (at >= by_tool_.size()) by_tool_.resize(at + 1);
    insert(by_tool_[at], engine::to_seconds(duration));
    insert(all_, engine::to_seconds(duration));
  }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    if (call.tool == ToolId::none) return std::nullopt;
    if (all_.size() <= enough_calls_)
      return GapForecast::exponential(std::chrono::seconds{1}, Evidence::prior);
    const auto at = static_cast<std::size_t>(call.tool);
    if (at < by_tool_.size() && by_tool_[at].size() > enough_calls_)
      return GapForecast::of_samples(by_tool_[at], Evidence::tool);
    return GapForecast::of_samples(all_, Evidence::pooled);
  }

 private:
  static void insert(Samples& samples, double seconds) {
    samples.insert(std::ranges::upper_bound(samples, seconds), seconds);
  }

  std::size_t enough_calls_;
  Samples all_;
  std::vector<Samples> by_tool_;
};

}  // namespace

Declared tool_cdf_estimator_declares() { return {.parameters = {kEnoughCalls}}; }

std::unique_ptr<GapEstimator> make_tool_cdf_estimator(const EstimatorConfig& config) {
  return std::make_unique<ToolCdf>(value_of(kEnoughCalls, config.parameters));
}

}  // namespace policies
