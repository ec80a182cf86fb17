#include "workers/policies/host_eviction/factory.hpp"

#include "workers/policies/estimators/named_makers.hpp"

// One line per rule: its name. The file of that name defines its maker and, of a TUNABLE one, what
// it declares.
#define KVSWEEP_HOST_EVICTION_RULES(RULE, TUNABLE) \
  RULE(next_use)                                   \
  RULE(oracle)

namespace policies {

#define DECLARE_RULE(name) \
  std::unique_ptr<engine::HostEviction> make_host_##name##_rule(const HostEvictionConfig&);
#define DECLARE_TUNABLE_RULE(name) \
  DECLARE_RULE(name)               \
  Declared host_##name##_rule_declares();
KVSWEEP_HOST_EVICTION_RULES(DECLARE_RULE, DECLARE_TUNABLE_RULE)

namespace {

std::unique_ptr<engine::HostEviction> no_rule(const HostEvictionConfig&) { return nullptr; }

#define RULE_ENTRY(name) {#name, make_host_##name##_rule},
#define TUNABLE_RULE_ENTRY(name) {#name, make_host_##name##_rule, host_##name##_rule_declares},
constexpr Entry<engine::HostEviction, HostEvictionConfig> kRules[] = {
    {"lru", no_rule}, KVSWEEP_HOST_EVICTION_RULES(RULE_ENTRY, TUNABLE_RULE_ENTRY){"arc", no_rule}};

}  // namespace

void add_host_eviction_parameters(std::vector<DeclaredParameter>& all) {
  add_parameters(kRules, "policy.host_eviction", all);
}

std::vector<std::string> host_eviction_names() { return names_in(kRules); }

std::unique_ptr<engine::HostEviction> make_host_eviction(const std::string& name,
                                                         const HostEvictionConfig& config) {
  return make_named(kRules, "host_eviction", name, config);
}

}  // namespace policies
