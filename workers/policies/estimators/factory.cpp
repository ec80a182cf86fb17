#include "workers/policies/estimators/estimator_error.hpp"

// One line per estimator: its name. The file of that name defines NAME_estimator().
#define KVSWEEP_ESTIMATORS(ESTIMATOR) \
  ESTIMATOR(tool_mean)                \
  ESTIMATOR(tool_cdf)                 \
  ESTIMATOR(lognormal)                \
  ESTIMATOR(client_hint)              \
  ESTIMATOR(oracle)

namespace policies {

#define DECLARE_ESTIMATOR(name) EstimatorEntry name##_estimator();
KVSWEEP_ESTIMATORS(DECLARE_ESTIMATOR)

const Axis<GapEstimator, EstimatorConfig>& estimators() {
#define ESTIMATOR_ENTRY(name) name##_estimator(),
  static const Axis<GapEstimator, EstimatorConfig> axis("estimator",
                                                        {KVSWEEP_ESTIMATORS(ESTIMATOR_ENTRY)});
  return axis;
}

std::unique_ptr<GapEstimator> make_estimator(const EstimatorConfig& config) {
  auto estimator = estimators().make(config.name, config);
  if (!config.error.any()) return estimator;
  return with_error(std::move(estimator), config.error);
}

}  // namespace policies
