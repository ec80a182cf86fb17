#include "workers/policies/admission/factory.hpp"

#include "workers/policies/estimators/named_makers.hpp"

// One line per rule: its name. The file of that name defines its maker.
#define KVSWEEP_ADMISSIONS(RULE) \
  RULE(max_programs)             \
  RULE(working_set)              \
  RULE(thunder)                  \
  RULE(quota)

namespace policies {

#define DECLARE_RULE(name) \
  std::unique_ptr<AdmissionRule> make_##name##_admission(const AdmissionConfig&);
KVSWEEP_ADMISSIONS(DECLARE_RULE)

namespace {

#define RULE_ENTRY(name) {#name, make_##name##_admission},
constexpr Entry<AdmissionRule, AdmissionConfig> kRules[] = {
    KVSWEEP_ADMISSIONS(RULE_ENTRY) given_by_plugin<AdmissionRule, AdmissionConfig>()};

}  // namespace

std::vector<std::string> admission_names() { return names_in(kRules); }
std::vector<std::string> horizon_names() { return {"one_turn", "mean_end", "hint"}; }

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
