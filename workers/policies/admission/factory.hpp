#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/policies/admission/config.hpp"
#include "workers/policies/admission/rule.hpp"

namespace policies {

/// Appends the parameters that the rules declare.
void add_admission_parameters(std::vector<DeclaredParameter>& all);

/// Names in this build, for error messages.
std::vector<std::string> admission_names();

/// Throws engine::InputError when the config's rule is not in the build (the error lists those that
/// are), or when it lacks a parameter that it needs.
std::unique_ptr<AdmissionRule> make_admission_rule(const AdmissionConfig& config);

/// Whether the config holds any program back.
bool limits(const AdmissionConfig& config);

}  // namespace policies
