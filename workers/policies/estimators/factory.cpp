#include "workers/policies/estimators/factory.hpp"

#include "workers/policies/estimators/estimator_error.hpp"
#include "workers/policies/estimators/named_makers.hpp"

// One line per estimator: its name. The file of that name defines its maker and, of a TUNABLE one,
// what it declares.
#define KVSWEEP_ESTIMATORS(ESTIMATOR, TUNABLE) \
  ESTIMATOR(tool_mean)                         \
  TUNABLE(tool_cdf)                            \
  ESTIMATOR(lognormal)                         \
  ESTIMATOR(client_hint)                       \
  ESTIMATOR(oracle)

namespace policies {

#define DECLARE_ESTIMATOR(name) \
  std::unique_ptr<GapEstimator> make_##name##_estimator(const EstimatorConfig&);
#define DECLARE_TUNABLE_ESTIMATOR(name) \
  DECLARE_ESTIMATOR(name)               \
  Declared name##_estimator_declares();
KVSWEEP_ESTIMATORS(DECLARE_ESTIMATOR, DECLARE_TUNABLE_ESTIMATOR)

namespace {

#define ESTIMATOR_ENTRY(name) {#name, make_##name##_estimator},
#define TUNABLE_ESTIMATOR_ENTRY(name) {#name, make_##name##_estimator, name##_estimator_declares},
constexpr Entry<GapEstimator, EstimatorConfig> kEstimators[] = {
    KVSWEEP_ESTIMATORS(ESTIMATOR_ENTRY, TUNABLE_ESTIMATOR_ENTRY)};

}  // namespace

void add_estimator_parameters(std::vector<DeclaredParameter>& all) {
  add_parameters(
      kEstimators,
      [](const std::vector<KeyValue>& names) {
        return (is("policy.estimator", names) || is("policy.prefetch", names)) &&
               (is("policy.retention", {"pin", "infercept"}) || is_not("policy.prefetch", "none") ||
                is("policy.eviction", {"next_use"}) || is("policy.host_eviction", {"next_use"}));
      },
      all);
}

std::vector<std::string> estimator_names() { return names_in(kEstimators); }

std::unique_ptr<GapEstimator> make_estimator(const EstimatorConfig& config) {
  auto estimator = make_named(kEstimators, "estimator", config.name, config);
  if (!config.error.any()) return estimator;
  return with_error(std::move(estimator), config.error);
}

}  // namespace policies
