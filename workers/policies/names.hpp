#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "workers/engine/step/step.hpp"
#include "workers/policies/estimators/parameters.hpp"

namespace policies {

/// Names of the policies in this build, for error messages.
std::vector<std::string> order_names();
std::vector<std::string> admission_names();
std::vector<std::string> retention_names();
std::vector<std::string> eviction_names();
std::vector<std::string> host_eviction_names();
std::vector<std::string> ttl_rule_names();
std::vector<std::string> estimator_names();
std::vector<std::string> prefetch_names();
std::vector<std::string> scoring_names();

/// The parameters that rules declare, for the keys of a sweep file.
/// Throws std::logic_error when two rules of different axes declare the same name.
const std::vector<DeclaredParameter>& declared_parameters();

/// Names of the reasons that rules declare. The engine has them from sweep::kReasonsOfRules on,
/// in this order.
std::vector<std::string> declared_reasons();
/// The one of that name. Throws engine::InputError when no rule declares it.
engine::KvReason own_reason(std::string_view name);

}  // namespace policies
