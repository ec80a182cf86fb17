#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/step/eviction_rule.hpp"
#include "workers/policies/estimators/config.hpp"
#include "workers/policies/eviction/config.hpp"

namespace policies {

/// The KV that is used last goes first, by a forecast of when jobs return or by their true return.
engine::EvictionOrderMaker make_next_use_order(EstimatorConfig estimator);
engine::EvictionOrderMaker make_oracle_order(EstimatorConfig estimator);

/// Appends the parameters that the rules declare.
void add_eviction_parameters(std::vector<DeclaredParameter>& all);

/// Names of the rules in this build, for error messages.
std::vector<std::string> eviction_rule_names();

/// Throws engine::InputError when the name is not in the build (the error lists those that are).
std::unique_ptr<engine::EvictionRule> make_eviction_rule(const std::string& name,
                                                         const EvictionConfig& config);

}  // namespace policies
