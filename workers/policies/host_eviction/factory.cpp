#include "workers/policies/host_eviction/config.hpp"

// One line per rule: its name. The file of that name defines host_NAME_rule().
#define KVSWEEP_HOST_EVICTION_RULES(RULE) \
  RULE(next_use)                          \
  RULE(oracle)

namespace policies {

#define DECLARE_RULE(name) HostRuleEntry host_##name##_rule();
KVSWEEP_HOST_EVICTION_RULES(DECLARE_RULE)

namespace {

std::unique_ptr<engine::HostEviction> no_rule(const HostEvictionConfig&) { return nullptr; }

}  // namespace

const Axis<engine::HostEviction, HostEvictionConfig>& host_evictions() {
#define RULE_ENTRY(name) host_##name##_rule(),
  static const Axis<engine::HostEviction, HostEvictionConfig> axis(
      "host_eviction", {HostRuleEntry{"lru", no_rule},
                        KVSWEEP_HOST_EVICTION_RULES(RULE_ENTRY) HostRuleEntry{"arc", no_rule}});
  return axis;
}

}  // namespace policies
