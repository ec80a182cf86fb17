#include "workers/policies/estimators/estimator_error.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "workers/engine/base/mixed_bits.hpp"

namespace policies {
namespace {

using engine::Nanos;

std::uint64_t mix(std::uint64_t x) { return engine::mixed_bits(x + 0x9e3779b97f4a7c15ULL); }

/// In (0, 1].
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 1) * 0x1.0p-53; }

/// Draws that belong to this turn of this job.
class Draws {
 public:
  Draws(std::uint64_t seed, engine::JobId job, int turn)
      : first_(mix(mix(seed ^ mix(engine::index(job))) ^ static_cast<std::uint64_t>(turn))) {}
  /// A standard normal value by the Box-Muller transform.
  double normal() const {
    return std::sqrt(-2 * std::log(uniform(first_))) *
           std::cos(2 * std::numbers::pi * uniform(mix(first_)));
  }
  /// Whether the n-th event of this probability happens.
  bool happens(std::uint64_t n, double probability) const {
    return probability > 0 && uniform(mix(first_ + 0x632be59bd9b4e019ULL * n)) <= probability;
  }

 private:
  std::uint64_t first_;
};

class WithError final : public GapEstimator {
 public:
  WithError(std::unique_ptr<GapEstimator> estimator, const EstimatorError& error)
      : estimator_(std::move(estimator)), error_(error) {}

  void learn(const GapCall& call, Nanos duration) override { estimator_->learn(call, duration); }

  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const auto forecast = estimator_->forecast(call);
    if (!forecast) return forecast;
    const auto factor = error_factor(error_, call.job, call.turn);
    return factor ? std::optional(forecast->scaled(*factor)) : std::nullopt;
  }

 private:
  std::unique_ptr<GapEstimator> estimator_;
  EstimatorError error_;
};

}  // namespace

std::optional<double> error_factor(const EstimatorError& error, engine::JobId job, int turn) {
  const Draws draws(error.seed, job, turn);
  if (draws.happens(1, error.missing)) return std::nullopt;
  const double factor = error.bias * std::exp(error.sigma * draws.normal());
  if (!draws.happens(2, error.outliers)) return factor;
  return draws.happens(3, 0.5) ? factor * error.outlier_factor : factor / error.outlier_factor;
}

std::unique_ptr<GapEstimator> with_error(std::unique_ptr<GapEstimator> estimator,
                                         const EstimatorError& error) {
  return std::make_unique<WithError>(std::move(estimator), error);
}

}  // namespace policies
