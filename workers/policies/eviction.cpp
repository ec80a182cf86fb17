// Which unreferenced KV on the GPU is evicted first: the blocks released first (lru, and
// partial_first, which takes blocks without content before them), or the KV that is used last, by a
// forecast of when jobs return (next_use) or by their true return (oracle: Belady's rule on the
// jobs' contexts, as far as the queue is known).
#include "workers/engine/base/errors.hpp"
#include "workers/policies/estimators/factory.hpp"
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

}  // namespace

std::vector<std::string> eviction_names() { return {"lru", "partial_first", "next_use", "oracle"}; }

std::unique_ptr<engine::ReturnForecast> make_eviction(const PolicyConfig& config) {
  if (config.eviction == "lru" || config.eviction == "partial_first") return nullptr;
  EstimatorConfig estimator = config.estimator;
  if (config.eviction == "oracle") {
    estimator.name = "oracle";
  } else if (config.eviction != "next_use") {
    throw engine::InputError(
        "policy.eviction must be one of \"lru\", \"partial_first\", \"next_use\", \"oracle\", "
        "found \"" +
        config.eviction + '"');
  }
  return std::make_unique<Forecast>(make_estimator(estimator));
}

}  // namespace policies
