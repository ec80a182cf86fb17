#include "workers/policies/eviction/config.hpp"

// One line per rule: its name. The file of that name defines NAME_rule().
#define KVSWEEP_EVICTION_RULES(RULE) \
  RULE(slru)                         \
  RULE(tail_lru)                     \
  RULE(retention_priority)           \
  RULE(cost_aware)                   \
  RULE(session_close)

namespace policies {

#define DECLARE_RULE(name) RuleEntry name##_rule();
KVSWEEP_EVICTION_RULES(DECLARE_RULE)

const Axis<engine::EvictionRule, EvictionConfig>& eviction_rules() {
#define RULE_ENTRY(name) name##_rule(),
  static const Axis<engine::EvictionRule, EvictionConfig> axis(
      "eviction", {KVSWEEP_EVICTION_RULES(RULE_ENTRY) RuleEntry::of_plugin()});
  return axis;
}

}  // namespace policies
