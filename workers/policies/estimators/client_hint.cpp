// A forecast from the client's hint, which is roughly right.
#include <memory>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"

namespace policies {
namespace {

using engine::Nanos;

class ClientHint final : public GapEstimator {
 public:
  explicit ClientHint(GapSource hints) : hints_(std::move(hints)) {}

  void learn(const GapCall&, Nanos) override {}

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const Nanos hint = hints_(call.job, call.turn);
    if (hint <= Nanos{0}) return std::nullopt;
    return GapForecast::around(hint, kSpreadOfOneNumber, Evidence::told);
  }

 private:
  GapSource hints_;
};

}  // namespace

std::unique_ptr<GapEstimator> make_client_hint_estimator(const EstimatorConfig& config) {
  if (!config.hints)
    throw engine::InputError("policy.estimator \"client_hint\" needs clients that give hints");
  return std::make_unique<ClientHint>(config.hints);
}

}  // namespace policies
