// Gaps known before they end: from the replayed recording (oracle), an upper bound for
// all estimators, or from the client's hint, which is roughly right (client_hint).
#include <algorithm>

#include "workers/policies/estimators/config.hpp"

namespace policies {
namespace {

using engine::Nanos;

class Told final : public GapEstimator {
 public:
  Told(GapSource gaps, Nanos least, double log_sigma)
      : gaps_(std::move(gaps)), least_(least), log_sigma_(log_sigma) {}

  void learn(const GapCall&, Nanos) override {}

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const Nanos gap = gaps_(call.job, call.turn);
    if (gap < least_) return std::nullopt;
    // A duration of zero has no logarithm.
    return GapForecast::around(std::max(gap, Nanos{1}), log_sigma_, Evidence::told);
  }

 private:
  GapSource gaps_;
  Nanos least_;  // that tells something
  double log_sigma_;
};

}  // namespace

EstimatorEntry oracle_estimator() {
  return {
      "oracle", [](const EstimatorConfig& config) -> std::unique_ptr<GapEstimator> {
        if (!config.truth)
          throw engine::InputError("policy.estimator \"oracle\" needs recorded gaps to look at");
        return std::make_unique<Told>(config.truth, Nanos{0}, 0);
      }};
}

EstimatorEntry client_hint_estimator() {
  return {"client_hint", [](const EstimatorConfig& config) -> std::unique_ptr<GapEstimator> {
            if (!config.hints)
              throw engine::InputError(
                  "policy.estimator \"client_hint\" needs clients that give hints");
            return std::make_unique<Told>(config.hints, Nanos{1}, kSpreadOfOneNumber);
          }};
}

}  // namespace policies
