#include "workers/policies/admission/config.hpp"

// One line per rule: its name. The file of that name defines NAME_admission().
#define KVSWEEP_ADMISSIONS(RULE) \
  RULE(max_programs)             \
  RULE(working_set)              \
  RULE(thunder)                  \
  RULE(quota)

namespace policies {

#define DECLARE_RULE(name) AdmissionEntry name##_admission();
KVSWEEP_ADMISSIONS(DECLARE_RULE)

const Axis<AdmissionRule, AdmissionConfig>& admissions() {
#define RULE_ENTRY(name) name##_admission(),
  static const Axis<AdmissionRule, AdmissionConfig> axis(
      "admission", {KVSWEEP_ADMISSIONS(RULE_ENTRY) AdmissionEntry::of_plugin()});
  return axis;
}

std::unique_ptr<AdmissionRule> make_admission_rule(const AdmissionConfig& config) {
  auto rule = admissions().make(config.rule, config);
  if (config.rule != "max_programs" && config.rule != "plugin" && config.pool_tokens <= 0)
    throw engine::InputError("policy.admission \"" + config.rule + "\" needs the pool's size");
  return rule;
}

}  // namespace policies
