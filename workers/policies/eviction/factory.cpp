#include "workers/policies/eviction/factory.hpp"

#include "workers/policies/estimators/named_makers.hpp"

// One line per rule: its name. The file of that name defines its maker.
#define KVSWEEP_EVICTION_RULES(RULE) \
  RULE(slru)                         \
  RULE(tail_lru)                     \
  RULE(retention_priority)           \
  RULE(cost_aware)

namespace policies {

#define DECLARE_RULE(name) \
  std::unique_ptr<engine::EvictionRule> make_##name##_rule(const EvictionConfig&);
KVSWEEP_EVICTION_RULES(DECLARE_RULE)

namespace {

#define RULE_ENTRY(name) {#name, make_##name##_rule},
constexpr Entry<engine::EvictionRule, EvictionConfig> kRules[] = {
    KVSWEEP_EVICTION_RULES(RULE_ENTRY) given_by_plugin<engine::EvictionRule, EvictionConfig>()};

}  // namespace

std::vector<std::string> eviction_rule_names() { return names_in(kRules); }

std::unique_ptr<engine::EvictionRule> make_eviction_rule(const std::string& name,
                                                         const EvictionConfig& config) {
  return make_named(kRules, "eviction", name, config);
}

}  // namespace policies
