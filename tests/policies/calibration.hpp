#pragma once
#include <span>
#include <string>
#include <vector>

#include "workers/policies/estimators/config.hpp"

namespace policies {

/// A timed tool call.
struct TimedCall {
  std::string job;  // calls of one trajectory belong together
  std::string tool;
  double seconds = 0;  // above 0
};

/// How well an estimator predicts calls of trajectories that it has not learned from.
struct Calibration {
  std::string estimator;
  std::string tool;  // "all": every held-out call
  int calls = 0;     // held out
  int silent = 0;    // held-out calls without a forecast: scored as exponential with a mean of 1 s
  /// Mean pinball loss over the quantiles 0.05, 0.10 .. 0.95. For a forecast of one value it is
  /// half of the mean absolute error; it is smaller the better shape and spread fit.
  double pinball_s = 0;
  /// Share of calls within the central interval of 50, 80 and 95 %. A perfect forecast has exactly
  /// these shares.
  double within50 = 0, within80 = 0, within95 = 0;
  /// Geometric mean of the ratio of the upper to the lower end of the 80 % interval.
  double spread80 = 0;
};

struct CalibrationConfig {
  double held_out = 0.3;  // share of trajectories, chosen by name
  int fewest_calls = 20;  // fewest calls of a tool with a row of its own
};

/// Whether the trajectory is held out. The answer is the same on every machine.
bool is_held_out(const std::string& job, double share);

/// The estimator learns from the calls of all other trajectories, in the order given, and then
/// forecasts the held-out ones without learning. Returns the row "all" first, then tools by name.
std::vector<Calibration> calibrate(std::span<const TimedCall> calls,
                                   const EstimatorConfig& estimator,
                                   const CalibrationConfig& config = {});

}  // namespace policies
