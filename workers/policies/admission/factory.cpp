#include "workers/policies/admission/factory.hpp"

#include "workers/policies/estimators/named_makers.hpp"

// One line per rule: its name. The file of that name defines its maker and, of a TUNABLE one, what
// it declares.
#define KVSWEEP_ADMISSIONS(RULE, TUNABLE) \
  RULE(max_programs)                      \
  TUNABLE(working_set)                    \
  TUNABLE(thunder)                        \
  TUNABLE(quota)

namespace policies {

#define DECLARE_RULE(name) \
  std::unique_ptr<AdmissionRule> make_##name##_admission(const AdmissionConfig&);
#define DECLARE_TUNABLE_RULE(name) \
  DECLARE_RULE(name)               \
  Declared name##_admission_declares();
KVSWEEP_ADMISSIONS(DECLARE_RULE, DECLARE_TUNABLE_RULE)

namespace {

#define RULE_ENTRY(name) {#name, make_##name##_admission},
#define TUNABLE_RULE_ENTRY(name) {#name, make_##name##_admission, name##_admission_declares},
constexpr Entry<AdmissionRule, AdmissionConfig> kRules[] = {KVSWEEP_ADMISSIONS(
    RULE_ENTRY, TUNABLE_RULE_ENTRY) given_by_plugin<AdmissionRule, AdmissionConfig>()};

}  // namespace

void add_admission_parameters(std::vector<DeclaredParameter>& all) {
  add_parameters(kRules, "policy.admission", all);
}

std::vector<std::string> admission_names() { return names_in(kRules); }

std::unique_ptr<AdmissionRule> make_admission_rule(const AdmissionConfig& config) {
  auto rule = make_named(kRules, "admission", config.rule, config);
  if (config.rule != "max_programs" && config.rule != "plugin" && config.pool_tokens <= 0)
    throw engine::InputError("policy.admission \"" + config.rule + "\" needs the pool's size");
  return rule;
}

bool limits(const AdmissionConfig& config) {
  return config.rule != "max_programs" || config.max_programs > 0;
}

}  // namespace policies
