#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"
#include "workers/policies/estimators/axis.hpp"
#include "workers/policies/estimators/gap_forecast.hpp"

namespace policies {

/// How long the tool runs after this turn of this job; negative when unknown.
using GapSource = std::function<engine::Nanos(engine::JobId, int turn)>;

/// Log-spread around a single predicted value: a factor of 1.28 either way.
inline constexpr double kSpreadOfOneNumber = 0.25;

struct EstimatorError {
  double bias = 1;             // factor
  double sigma = 0;            // standard deviation of the logarithm of a second factor
  double outliers = 0;         // share of forecasts that are also off by outlier_factor, up or down
  double outlier_factor = 10;  // at least 1
  double missing = 0;          // share of forecasts that are not there
  std::uint64_t seed = 42;
  bool any() const { return bias != 1 || sigma != 0 || outliers != 0 || missing != 0; }
};

struct EstimatorConfig {
  std::string name = "tool_mean";
  Parameters parameters{};  // that estimators declare
  EstimatorError error{};
  GapSource truth{};  // oracle
  GapSource hints{};  // client_hint
};

using EstimatorEntry = Entry<GapEstimator, EstimatorConfig>;
const Axis<GapEstimator, EstimatorConfig>& estimators();

/// The estimator of the config, with its errors. Throws engine::InputError as Axis::make() does.
std::unique_ptr<GapEstimator> make_estimator(const EstimatorConfig& config);

}  // namespace policies
