#pragma once
#include <memory>

#include "workers/policies/config.hpp"
#include "workers/policies/gap_estimator.hpp"

namespace policies {

/// Makes an estimator worse on purpose: each of its forecasts is `bias` times too long, and
/// multiplied by exp(sigma Z) with Z standard normal, drawn from seed, job and turn alone. So every
/// policy meets the same errors, in whatever order it asks.
std::unique_ptr<GapEstimator> with_error(std::unique_ptr<GapEstimator> estimator,
                                         const EstimatorError& error);

}  // namespace policies
