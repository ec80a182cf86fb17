// Knows every gap in advance from the replayed recording: an upper bound for all estimators.
#include <memory>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"

namespace policies {
namespace {

using engine::Nanos;

class Oracle final : public GapEstimator {
 public:
  explicit Oracle(GapSource truth) : truth_(std::move(truth)) {}

  void learn(const GapCall&, Nanos) override {}

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const Nanos gap = truth_(call.job, call.turn);
    if (gap < Nanos{0}) return std::nullopt;
    // A duration of zero has no logarithm.
    return GapForecast::certain(std::max(gap, Nanos{1}), Evidence::told);
  }

 private:
  GapSource truth_;
};

}  // namespace

std::unique_ptr<GapEstimator> make_oracle_estimator(const EstimatorConfig& config) {
  if (!config.truth)
    throw engine::InputError("policy.estimator \"oracle\" needs recorded gaps to look at");
  return std::make_unique<Oracle>(config.truth);
}

}  // namespace policies
