#pragma once
#include <string>
#include <vector>

#include "workers/policies/estimators/parameters.hpp"

namespace policies {

/// Names of the policies in this build, for error messages.
std::vector<std::string> order_names();
std::vector<std::string> retention_names();
std::vector<std::string> eviction_names();
std::vector<std::string> host_eviction_names();
std::vector<std::string> ttl_rule_names();
std::vector<std::string> prefetch_names();
std::vector<std::string> scoring_names();

/// The parameters that rules declare, for the keys of a sweep file.
std::vector<DeclaredParameter> declared_parameters();

}  // namespace policies
