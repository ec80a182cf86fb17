#include "workers/policies/estimators/estimator_error.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace policies {
namespace {

using engine::Nanos;

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): unrelated outputs for adjacent inputs.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// In (0, 1].
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 1) * 0x1.0p-53; }

/// A standard normal value by the Box-Muller transform.
double normal(std::uint64_t seed, const GapCall& call) {
  const std::uint64_t of_job = mix(seed ^ mix(engine::index(call.job)));
  const std::uint64_t first = mix(of_job ^ static_cast<std::uint64_t>(call.turn));
  return std::sqrt(-2 * std::log(uniform(first))) *
         std::cos(2 * std::numbers::pi * uniform(mix(first)));
}

class WithError final : public GapEstimator {
 public:
  WithError(std::unique_ptr<GapEstimator> estimator, const EstimatorError& error)
      : estimator_(std::move(estimator)), error_(error) {}

  void learn(const GapCall& call, Nanos duration) override { estimator_->learn(call, duration); }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const auto forecast = estimator_->forecast(call);
    if (!forecast) return forecast;
    return forecast->scaled(error_.bias * std::exp(error_.sigma * normal(error_.seed, call)));
  }

 private:
  std::unique_ptr<GapEstimator> estimator_;
  EstimatorError error_;
};

}  // namespace

std::unique_ptr<GapEstimator> with_error(std::unique_ptr<GapEstimator> estimator,
                                         const EstimatorError& error) {
  return std::make_unique<WithError>(std::move(estimator), error);
}

}  // namespace policies
