// Knows every gap in advance, from the recording that is replayed: the bound for all estimators.
#include <memory>

#include "workers/engine/errors.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/gap_estimator.hpp"

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
    // A tool that takes no time at all has no logarithm.
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
