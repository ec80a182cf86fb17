#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"

namespace policies {

/// Appends what the estimators declare.
void add_estimator_parameters(std::vector<DeclaredParameter>& all);
/// Names of the estimators in this build, for error messages.
std::vector<std::string> estimator_names();

/// Throws engine::InputError when the config's name is not in the build (the error lists those that
/// are), or when the estimator lacks a parameter that it needs.
std::unique_ptr<GapEstimator> make_estimator(const EstimatorConfig& config);

}  // namespace policies
