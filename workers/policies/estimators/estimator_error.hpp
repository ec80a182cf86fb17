#pragma once
#include <memory>

#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"

namespace policies {

/// Wraps an estimator with injected errors: multiplies each forecast by `bias` and by exp(sigma Z),
/// with Z standard normal and drawn from seed, job and turn alone. Every policy therefore meets the
/// same errors, in whatever order it asks.
std::unique_ptr<GapEstimator> with_error(std::unique_ptr<GapEstimator> estimator,
                                         const EstimatorError& error);

}  // namespace policies
