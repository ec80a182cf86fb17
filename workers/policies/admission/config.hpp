#pragma once
#include <functional>
#include <memory>
#include <string>

#include "workers/engine/base/ids.hpp"
#include "workers/policies/admission/rule.hpp"
#include "workers/policies/estimators/axis.hpp"

namespace policies {

/// Which programs may be served. Values that a rule does not use are ignored.
struct AdmissionConfig {
  std::string rule = "max_programs";
  int max_programs = 0;  // 0: no limit
  int pool_tokens = 0;   // that the KV pool holds
  std::function<int(engine::JobId)>
      last_context{};  // working_set, horizon hint: in tokens; 0: not told
  std::function<std::unique_ptr<AdmissionRule>()> given{};  // plugin
  Parameters parameters{};                                  // that rules declare
  /// Whether any program is held back.
  bool limits() const { return rule != "max_programs" || max_programs > 0; }
};

using AdmissionEntry = Entry<AdmissionRule, AdmissionConfig>;
const Axis<AdmissionRule, AdmissionConfig>& admissions();

/// The rule of the config. Throws engine::InputError as Axis::make() does.
std::unique_ptr<AdmissionRule> make_admission_rule(const AdmissionConfig& config);

}  // namespace policies
