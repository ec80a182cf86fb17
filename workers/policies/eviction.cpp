// Which unreferenced KV on the GPU is evicted first: the blocks released first (lru, and
// partial_first, which takes blocks without content before them), or the KV that is used last, by a
// forecast of when jobs return (next_use) or by their true return (oracle: Belady's rule on the
// jobs' contexts, as far as the queue is known), or the block of least rank by a rule. And what
// leaves the host tier first.
#include <algorithm>

#include "workers/policies/estimators/factory.hpp"
#include "workers/policies/estimators/named_makers.hpp"
#include "workers/policies/estimators/tool_calls.hpp"
#include "workers/policies/factory.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::Nanos;
using engine::Request;

class Forecast final : public engine::ReturnForecast {
 public:
  explicit Forecast(std::unique_ptr<GapEstimator> estimator) : calls_(std::move(estimator)) {}

  void on_arrival(const Request& request) override { calls_.on_arrival(request); }
  void on_turn_finish(const Request& request, Nanos now) override { calls_.start(request, now); }
  Nanos returns_by(JobId job, double probability, Nanos now) const override {
    return calls_.returns_by(job, probability, now);
  }

 private:
  ToolCalls calls_;
};

double cost_growth(const ReloadCost& cost) {
  return cost.linear_s > 0 ? std::max(0.0, 2 * cost.quadratic_s / cost.linear_s) : 0;
}

}  // namespace

std::vector<std::string> eviction_names() {
  std::vector<std::string> names = {"lru", "partial_first", "next_use", "oracle"};
  for (std::string& rule : eviction_rule_names()) names.push_back(std::move(rule));
  return names;
}

Eviction make_eviction(const PolicyConfig& config) {
  const std::string& name = config.eviction;
  if (name == "lru" || name == "partial_first") return {};
  if (name == "next_use" || name == "oracle") {
    EstimatorConfig estimator = config.estimator;
    if (name == "oracle") estimator.name = name;
    return {.forecast = std::make_unique<Forecast>(make_estimator(estimator)), .rule = nullptr};
  }
  const std::vector<std::string> names = eviction_names();
  if (std::ranges::find(names, name) == names.end()) reject_name("eviction", name, names);
  EvictionConfig rule = config.eviction_rule;
  rule.cost_growth = cost_growth(config.reload);
  return {.forecast = nullptr, .rule = make_eviction_rule(name, rule)};
}

std::unique_ptr<engine::HostEviction> make_host_eviction(const PolicyConfig& config,
                                                         const engine::QueueOrder& order) {
  return make_host_eviction(config.host_eviction, {config.estimator, &order,
                                                   config.given_host_eviction, config.parameters});
}

}  // namespace policies
