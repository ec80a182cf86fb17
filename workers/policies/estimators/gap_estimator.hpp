#pragma once
#include <optional>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"
#include "workers/policies/estimators/gap_forecast.hpp"

namespace policies {

/// A turn's tool call, as known when the turn finishes.
struct GapCall {
  engine::JobId job{};
  int turn = 0;
  engine::ToolId tool = engine::ToolId::none;
};

/// Predicts how long a job's tool will run. Learns from calls that have returned.
class GapEstimator {
 public:
  virtual ~GapEstimator() = default;
  /// Records that the call took `duration`: from the end of the turn to the arrival of the next.
  /// Above zero.
  virtual void learn(const GapCall& call, engine::Nanos duration) = 0;
  /// Empty when the estimator has no basis for a forecast. Valid until the next learn().
  virtual std::optional<GapForecast> forecast(const GapCall& call) const = 0;
};

}  // namespace policies
