#include "workers/policies/factory.hpp"

#include <algorithm>
#include <stdexcept>

#include "workers/policies/admission/admitted_programs.hpp"
#include "workers/policies/admission/factory.hpp"
#include "workers/policies/admission/shared_prefixes.hpp"
#include "workers/policies/estimators/factory.hpp"
#include "workers/policies/estimators/named_makers.hpp"
#include "workers/policies/plugin/factory.hpp"

// One line per policy: its name. The file of that name defines its maker and, of a TUNABLE one,
// what it declares.
#define KVSWEEP_RETENTIONS(RETENTION, TUNABLE) \
  RETENTION(free)                              \
  RETENTION(pin)                               \
  RETENTION(infercept)                         \
  RETENTION(plugin)

#define KVSWEEP_TTL_RULES(TTL, TUNABLE) \
  TUNABLE(fixed)                        \
  TUNABLE(utility)                      \
  TTL(ski_rental)

namespace policies {

#define DECLARE_RETENTION(name) \
  std::unique_ptr<engine::RetentionPolicy> make_##name##_retention(const PolicyConfig&);
#define DECLARE_TTL_RULE(name) std::unique_ptr<TtlRule> make_##name##_ttl(const PolicyConfig&);
#define DECLARE_TUNABLE_RETENTION(name) \
  DECLARE_RETENTION(name)               \
  Declared name##_retention_declares();
#define DECLARE_TUNABLE_TTL_RULE(name) \
  DECLARE_TTL_RULE(name)               \
  Declared name##_ttl_declares();
KVSWEEP_RETENTIONS(DECLARE_RETENTION, DECLARE_TUNABLE_RETENTION)
KVSWEEP_TTL_RULES(DECLARE_TTL_RULE, DECLARE_TUNABLE_TTL_RULE)

namespace {

#define RETENTION_ENTRY(name) {#name, make_##name##_retention},
#define TUNABLE_RETENTION_ENTRY(name) {#name, make_##name##_retention, name##_retention_declares},
#define TTL_RULE_ENTRY(name) {#name, make_##name##_ttl},
#define TUNABLE_TTL_RULE_ENTRY(name) {#name, make_##name##_ttl, name##_ttl_declares},
constexpr Entry<engine::RetentionPolicy, PolicyConfig> kRetentions[] = {
    KVSWEEP_RETENTIONS(RETENTION_ENTRY, TUNABLE_RETENTION_ENTRY)};
constexpr Entry<TtlRule, PolicyConfig> kTtlRules[] = {
    KVSWEEP_TTL_RULES(TTL_RULE_ENTRY, TUNABLE_TTL_RULE_ENTRY)};

std::vector<DeclaredParameter> all_parameters() {
  std::vector<DeclaredParameter> all;
  add_order_parameters(all);
  add_admission_parameters(all);
  add_parameters(kRetentions, "policy.retention", all);
  add_parameters(
      kTtlRules,
      [](const auto& names) {
        return is("policy.retention", {"pin"}) && is("policy.ttl_rule", names);
      },
      all);
  add_eviction_parameters(all);
  add_host_eviction_parameters(all);
  add_estimator_parameters(all);
  for (auto one = all.begin(); one != all.end(); ++one)
    for (auto other = all.begin(); other != one; ++other)
      if (std::string_view(one->parameter.name) == other->parameter.name)
        throw std::logic_error("policy." + std::string(one->parameter.name) + " is declared twice");
  return all;
}

}  // namespace

std::vector<std::string> retention_names() { return names_in(kRetentions); }
std::vector<std::string> ttl_rule_names() { return names_in(kTtlRules); }

const std::vector<DeclaredParameter>& declared_parameters() {
  static const std::vector<DeclaredParameter> all = all_parameters();  // asked for by every cell
  return all;
}

std::vector<std::string> declared_reasons() {
  std::vector<std::string> all;
  add_reasons(kRetentions, all);
  add_reasons(kTtlRules, all);
  return all;
}

engine::KvReason own_reason(std::string_view name) {
  const std::vector<std::string> all = declared_reasons();
  const auto found = std::ranges::find(all, name);
  if (found == all.end())
    throw engine::InputError("no rule declares the reason \"" + std::string(name) + '"');
  return static_cast<engine::KvReason>(static_cast<int>(sweep::kReasonsOfRules) +
                                       (found - all.begin()));
}

std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config) {
  const OrderConfig needs{config.parameters, config.true_work, config.estimator.error,
                          config.block_size, config.given_order};
  const auto order = [&] { return make_order(config.order, needs); };
  if (!limits(config.admission)) return order();
  return std::make_unique<AdmittedPrograms>(
      make_admission_rule(config.admission), order(), order(),
      counts_once(config.admission.parameters) ? config.block_size : 0);
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
