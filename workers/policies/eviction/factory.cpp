#include "workers/policies/eviction/factory.hpp"

#include "workers/policies/estimators/named_makers.hpp"

// One line per rule: its name. The file of that name defines its maker and, of a TUNABLE one, what
// it declares.
#define KVSWEEP_EVICTION_RULES(RULE, TUNABLE) \
  TUNABLE(slru)                               \
  TUNABLE(tail_lru)                           \
  TUNABLE(retention_priority)                 \
  RULE(cost_aware)                            \
  RULE(session_close)

namespace policies {

#define DECLARE_RULE(name) \
  std::unique_ptr<engine::EvictionRule> make_##name##_rule(const EvictionConfig&);
#define DECLARE_TUNABLE_RULE(name) \
  DECLARE_RULE(name)               \
  Declared name##_rule_declares();
KVSWEEP_EVICTION_RULES(DECLARE_RULE, DECLARE_TUNABLE_RULE)

namespace {

#define RULE_ENTRY(name) {#name, make_##name##_rule},
#define TUNABLE_RULE_ENTRY(name) {#name, make_##name##_rule, name##_rule_declares},
constexpr Entry<engine::EvictionRule, EvictionConfig> kRules[] = {KVSWEEP_EVICTION_RULES(
    RULE_ENTRY, TUNABLE_RULE_ENTRY) given_by_plugin<engine::EvictionRule, EvictionConfig>()};

}  // namespace

void add_eviction_parameters(std::vector<DeclaredParameter>& all) {
  add_parameters(kRules, "policy.eviction", all);
}

std::vector<std::string> eviction_rule_names() { return names_in(kRules); }

std::unique_ptr<engine::EvictionRule> make_eviction_rule(const std::string& name,
                                                         const EvictionConfig& config) {
  return make_named(kRules, "eviction", name, config);
}

}  // namespace policies
