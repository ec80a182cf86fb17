#include "workers/policies/factory.hpp"

#include <algorithm>

#include "workers/engine/errors.hpp"
#include "workers/policies/active_programs.hpp"
#include "workers/policies/estimator_error.hpp"

// One line a policy: its name. The file of that name defines its maker.
#define KVSWEEP_ORDERS(ORDER) \
  ORDER(fcfs)                 \
  ORDER(priority)             \
  ORDER(job_fcfs)             \
  ORDER(cache_ttl)

#define KVSWEEP_RETENTIONS(RETENTION) \
  RETENTION(free)                     \
  RETENTION(pin)                      \
  RETENTION(infercept)

#define KVSWEEP_TTL_RULES(TTL) \
  TTL(fixed)                   \
  TTL(utility)                 \
  TTL(ski_rental)

#define KVSWEEP_ESTIMATORS(ESTIMATOR) \
  ESTIMATOR(tool_mean)                \
  ESTIMATOR(tool_cdf)                 \
  ESTIMATOR(lognormal)                \
  ESTIMATOR(client_hint)              \
  ESTIMATOR(oracle)

namespace policies {

#define DECLARE_ORDER(name) \
  std::unique_ptr<engine::QueueOrder> make_##name##_order(const PolicyConfig&);
#define DECLARE_RETENTION(name) \
  std::unique_ptr<engine::RetentionPolicy> make_##name##_retention(const PolicyConfig&);
#define DECLARE_TTL_RULE(name) std::unique_ptr<TtlRule> make_##name##_ttl(const PolicyConfig&);
#define DECLARE_ESTIMATOR(name) \
  std::unique_ptr<GapEstimator> make_##name##_estimator(const EstimatorConfig&);
KVSWEEP_ORDERS(DECLARE_ORDER)
KVSWEEP_RETENTIONS(DECLARE_RETENTION)
KVSWEEP_TTL_RULES(DECLARE_TTL_RULE)
KVSWEEP_ESTIMATORS(DECLARE_ESTIMATOR)

namespace {

template <class Policy, class Config>
struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)(const Config&);
};

#define ORDER_ENTRY(name) {#name, make_##name##_order},
#define RETENTION_ENTRY(name) {#name, make_##name##_retention},
#define TTL_RULE_ENTRY(name) {#name, make_##name##_ttl},
#define ESTIMATOR_ENTRY(name) {#name, make_##name##_estimator},
constexpr Entry<engine::QueueOrder, PolicyConfig> kOrders[] = {KVSWEEP_ORDERS(ORDER_ENTRY)};
constexpr Entry<engine::RetentionPolicy, PolicyConfig> kRetentions[] = {
    KVSWEEP_RETENTIONS(RETENTION_ENTRY)};
constexpr Entry<TtlRule, PolicyConfig> kTtlRules[] = {KVSWEEP_TTL_RULES(TTL_RULE_ENTRY)};
constexpr Entry<GapEstimator, EstimatorConfig> kEstimators[] = {
    KVSWEEP_ESTIMATORS(ESTIMATOR_ENTRY)};

template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

template <class Table, class Config>
auto make(const Table& table, const std::string& axis, const std::string& name,
          const Config& config) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry.make(config);
  }
  std::string known;
  for (const auto& entry : table)
    known += std::string(known.empty() ? "" : ", ") + '"' + entry.name + '"';
  throw engine::InputError("policy." + axis + " must be one of " + known + ", found \"" + name +
                           '"');
}

}  // namespace

std::vector<std::string> order_names() { return names_in(kOrders); }
std::vector<std::string> retention_names() { return names_in(kRetentions); }
std::vector<std::string> ttl_rule_names() { return names_in(kTtlRules); }
std::vector<std::string> estimator_names() { return names_in(kEstimators); }

std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config) {
  const auto order = [&] { return make(kOrders, "order", config.order, config); };
  if (config.max_active_programs == 0) return order();
  return std::make_unique<ActivePrograms>(order(), order(), config.max_active_programs);
}

std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config) {
  return make(kRetentions, "retention", config.retention, config);
}

std::unique_ptr<TtlRule> make_ttl_rule(const PolicyConfig& config) {
  return make(kTtlRules, "ttl_rule", config.ttl_rule, config);
}

std::unique_ptr<GapEstimator> make_estimator(const EstimatorConfig& config) {
  auto estimator = make(kEstimators, "estimator", config.name, config);
  if (!config.error.any()) return estimator;
  return with_error(std::move(estimator), config.error);
}

}  // namespace policies
