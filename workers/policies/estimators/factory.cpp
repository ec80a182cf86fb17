#include "workers/policies/estimators/factory.hpp"

#include "workers/policies/estimators/estimator_error.hpp"
#include "workers/policies/estimators/named_makers.hpp"

// One line per estimator: its name. The file of that name defines its maker.
#define KVSWEEP_ESTIMATORS(ESTIMATOR) \
  ESTIMATOR(tool_mean)                \
  ESTIMATOR(tool_cdf)                 \
  ESTIMATOR(lognormal)                \
  ESTIMATOR(client_hint)              \
  ESTIMATOR(oracle)

namespace policies {

#define DECLARE_ESTIMATOR(name) \
  std::unique_ptr<GapEstimator> make_##name##_estimator(const EstimatorConfig&);
KVSWEEP_ESTIMATORS(DECLARE_ESTIMATOR)

namespace {

#define ESTIMATOR_ENTRY(name) {#name, make_##name##_estimator},
constexpr Entry<GapEstimator, EstimatorConfig> kEstimators[] = {
    KVSWEEP_ESTIMATORS(ESTIMATOR_ENTRY) given_by_plugin<GapEstimator, EstimatorConfig>()};

}  // namespace

std::vector<std::string> estimator_names() { return names_in(kEstimators); }

std::unique_ptr<GapEstimator> make_estimator(const EstimatorConfig& config) {
  auto estimator = make_named(kEstimators, "estimator", config.name, config);
  if (!config.error.any()) return estimator;
  return with_error(std::move(estimator), config.error);
}

}  // namespace policies
