#pragma once
#include <memory>
#include <optional>

#include "workers/policies/estimators/config.hpp"

namespace policies {

/// Error factor of a forecast: bias * exp(sigma * Z) with Z standard normal, for a share of turns
/// also times the outlier factor or its inverse. Empty where nothing is forecast. Depends only on
/// seed, job and turn, so that every policy meets the same errors.
std::optional<double> error_factor(const EstimatorError& error, engine::JobId job, int turn);

/// Wraps an estimator with these errors.
std::unique_ptr<GapEstimator> with_error(std::unique_ptr<GapEstimator> estimator,
                                         const EstimatorError& error);

}  // namespace policies
