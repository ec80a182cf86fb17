#include "workers/policies/factory.hpp"

#include <algorithm>
#include <stdexcept>

#include "workers/policies/admission/config.hpp"
#include "workers/policies/plugin/factory.hpp"

// One line per policy: its name. The file of that name defines NAME_retention() or NAME_ttl().
#define KVSWEEP_RETENTIONS(RETENTION) \
  RETENTION(free)                     \
  RETENTION(pin)                      \
  RETENTION(infercept)                \
  RETENTION(plugin)

#define KVSWEEP_TTL_RULES(TTL) \
  TTL(fixed)                   \
  TTL(utility)                 \
  TTL(ski_rental)

namespace policies {

#define DECLARE_RETENTION(name) RetentionEntry name##_retention();
#define DECLARE_TTL_RULE(name) TtlEntry name##_ttl();
KVSWEEP_RETENTIONS(DECLARE_RETENTION)
KVSWEEP_TTL_RULES(DECLARE_TTL_RULE)

namespace {

const Axis<engine::RetentionPolicy, PolicyConfig>& retentions() {
#define RETENTION_ENTRY(name) name##_retention(),
  static const Axis<engine::RetentionPolicy, PolicyConfig> axis(
      "retention", {KVSWEEP_RETENTIONS(RETENTION_ENTRY)});
  return axis;
}

const Axis<TtlRule, PolicyConfig>& ttl_rules() {
#define TTL_RULE_ENTRY(name) name##_ttl(),
  static const Axis<TtlRule, PolicyConfig> axis("ttl_rule", {KVSWEEP_TTL_RULES(TTL_RULE_ENTRY)});
  return axis;
}

std::vector<DeclaredParameter> all_parameters() {
  std::vector<DeclaredParameter> all;
  orders().add_parameters(all);
  admissions().add_parameters(all);
  retentions().add_parameters(all);
  ttl_rules().add_parameters(
      [](const auto& names) {
        return is("policy.retention", {"pin"}) && is("policy.ttl_rule", names);
      },
      all);
  eviction_rules().add_parameters(all);
  host_evictions().add_parameters(all);
  estimators().add_parameters(
      [](const auto& names) {
        return (is("policy.estimator", names) || is("policy.prefetch", names)) &&
               (is("policy.retention", {"pin", "infercept"}) || is_not("policy.prefetch", "none") ||
                is("policy.eviction", {"next_use"}) || is("policy.host_eviction", {"next_use"}));
      },
      all);
  for (auto one = all.begin(); one != all.end(); ++one)
    for (auto other = all.begin(); other != one; ++other)
      if (std::string_view(one->parameter.name) == other->parameter.name)
        throw std::logic_error("policy." + std::string(one->parameter.name) + " is declared twice");
  return all;
}

}  // namespace

std::vector<std::string> order_names() { return orders().names(); }
std::vector<std::string> admission_names() { return admissions().names(); }
std::vector<std::string> retention_names() { return retentions().names(); }
std::vector<std::string> ttl_rule_names() { return ttl_rules().names(); }
std::vector<std::string> host_eviction_names() { return host_evictions().names(); }
std::vector<std::string> estimator_names() { return estimators().names(); }

const std::vector<DeclaredParameter>& declared_parameters() {
  static const std::vector<DeclaredParameter> all = all_parameters();  // asked for by every cell
  return all;
}

std::vector<std::string> declared_reasons() {
  std::vector<std::string> all;
  retentions().add_reasons(all);
  ttl_rules().add_reasons(all);
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
  const auto order = [&] { return orders().make(config.order, needs); };
  if (!config.admission.limits()) return order();
  return holding_back(make_admission_rule(config.admission), order(), order(),
                      counts_once(config.admission.parameters) ? config.block_size : 0);
}

std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config) {
  auto retention = retentions().make(config.retention, config);
  if (!config.plugin.loaded) return retention;
  return telling_plugin(config.plugin.loaded, std::move(retention));
}

std::unique_ptr<TtlRule> make_ttl_rule(const PolicyConfig& config) {
  return ttl_rules().make(config.ttl_rule, config);
}

}  // namespace policies
