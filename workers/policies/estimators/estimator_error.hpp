#pragma once
#include <memory>
#include <optional>

#include "workers/policies/estimators/config.hpp"

namespace policies {

/// The factor by which what is said about this turn of this job is off; empty when nothing is said:
/// `bias` times exp(sigma Z), with Z standard normal, and a share of times the outlier factor or
/// its inverse. Drawn from seed, job and turn alone, so that every policy meets the same errors, in
/// whatever order it asks.
std::optional<double> error_factor(const EstimatorError& error, engine::JobId job, int turn);

/// Wraps an estimator with these errors.
std::unique_ptr<GapEstimator> with_error(std::unique_ptr<GapEstimator> estimator,
                                         const EstimatorError& error);

}  // namespace policies
