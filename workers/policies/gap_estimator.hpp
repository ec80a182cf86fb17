#pragma once
#include <optional>

#include "workers/engine/clock.hpp"
#include "workers/engine/ids.hpp"
#include "workers/policies/gap_forecast.hpp"

namespace policies {

/// A turn's tool call: what is known of it when the turn finishes.
struct GapCall {
  engine::JobId job{};
  int turn = 0;
  engine::ToolId tool = engine::ToolId::none;
};

/// Predicts how long a job's tool will run. Learns from calls that have returned.
class GapEstimator {
 public:
  virtual ~GapEstimator() = default;
  /// The call took this long: from the turn's finish to the arrival of the next. Above zero.
  virtual void learn(const GapCall& call, engine::Nanos duration) = 0;
  /// Nothing where there is nothing to go by. Valid until the next learn().
  virtual std::optional<GapForecast> forecast(const GapCall& call) const = 0;
};

}  // namespace policies
