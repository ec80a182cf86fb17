#include "workers/policies/factory.hpp"

#include "workers/policies/admission/admitted_programs.hpp"
#include "workers/policies/admission/factory.hpp"
#include "workers/policies/estimators/named_makers.hpp"
#include "workers/policies/eviction/factory.hpp"
#include "workers/policies/plugin/factory.hpp"

// One line per policy: its name. The file of that name defines its maker and, of a TUNABLE one,
// what parameters it declares.
#define KVSWEEP_ORDERS(ORDER, TUNABLE) \
  ORDER(fcfs)                          \
  ORDER(priority)                      \
  ORDER(job_fcfs)                      \
  ORDER(cache_ttl)                     \
  ORDER(attained_service)              \
  TUNABLE(srpt)                        \
  TUNABLE(longest_prefix)              \
  ORDER(plugin)

#define KVSWEEP_RETENTIONS(RETENTION) \
  RETENTION(free)                     \
  RETENTION(pin)                      \
  RETENTION(infercept)                \
  RETENTION(plugin)

#define KVSWEEP_TTL_RULES(TTL) \
  TTL(fixed)                   \
  TTL(utility)                 \
  TTL(ski_rental)              \
  TTL(plugin)

namespace policies {

#define DECLARE_ORDER(name) \
  std::unique_ptr<engine::QueueOrder> make_##name##_order(const PolicyConfig&);
#define DECLARE_RETENTION(name) \
  std::unique_ptr<engine::RetentionPolicy> make_##name##_retention(const PolicyConfig&);
#define DECLARE_TTL_RULE(name) std::unique_ptr<TtlRule> make_##name##_ttl(const PolicyConfig&);
#define DECLARE_TUNABLE_ORDER(name) \
  DECLARE_ORDER(name)               \
  std::vector<Parameter> name##_order_parameters();
KVSWEEP_ORDERS(DECLARE_ORDER, DECLARE_TUNABLE_ORDER)
KVSWEEP_RETENTIONS(DECLARE_RETENTION)
KVSWEEP_TTL_RULES(DECLARE_TTL_RULE)

namespace {

#define ORDER_ENTRY(name) {#name, make_##name##_order},
#define TUNABLE_ORDER_ENTRY(name) {#name, make_##name##_order, name##_order_parameters},
#define RETENTION_ENTRY(name) {#name, make_##name##_retention},
#define TTL_RULE_ENTRY(name) {#name, make_##name##_ttl},
constexpr Entry<engine::QueueOrder, PolicyConfig> kOrders[] = {
    KVSWEEP_ORDERS(ORDER_ENTRY, TUNABLE_ORDER_ENTRY)};
constexpr Entry<engine::RetentionPolicy, PolicyConfig> kRetentions[] = {
    KVSWEEP_RETENTIONS(RETENTION_ENTRY)};
constexpr Entry<TtlRule, PolicyConfig> kTtlRules[] = {KVSWEEP_TTL_RULES(TTL_RULE_ENTRY)};

}  // namespace

std::vector<std::string> order_names() { return names_in(kOrders); }
std::vector<std::string> retention_names() { return names_in(kRetentions); }
std::vector<std::string> ttl_rule_names() { return names_in(kTtlRules); }

std::vector<DeclaredParameter> declared_parameters() {
  std::vector<DeclaredParameter> all;
  add_parameters(kOrders, "order", all);
  add_admission_parameters(all);
  add_eviction_parameters(all);
  return all;
}

std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config) {
  const auto order = [&] { return make_named(kOrders, "order", config.order, config); };
  if (!limits(config.admission)) return order();
  return std::make_unique<AdmittedPrograms>(make_admission_rule(config.admission), order(),
                                            order());
}

std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config) {
  auto retention = make_named(kRetentions, "retention", config.retention, config);
  if (!config.plugin.loaded) return retention;
  return telling_plugin(config.plugin.loaded, std::move(retention));
}

std::unique_ptr<TtlRule> make_ttl_rule(const PolicyConfig& config) {
  return make_named(kTtlRules, "ttl_rule", config.ttl_rule, config);
}

}  // namespace policies
