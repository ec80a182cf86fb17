#pragma once
#include <span>
#include <string>
#include <vector>

#include "workers/policies/config.hpp"

namespace policies {

/// A tool call that was timed.
struct TimedCall {
  std::string job;  // calls of one trajectory belong together
  std::string tool;
  double seconds = 0;  // above 0
};

/// How well an estimator foretells calls of trajectories that it has not seen.
struct Calibration {
  std::string estimator;
  std::string tool;  // "all": every held-out call
  int calls = 0;     // held out
  int silent = 0;    // of these, without a forecast: scored as exponential with a mean of 1 s
  /// Mean pinball loss over the quantiles 0.05, 0.10 .. 0.95: for a forecast of one value half of
  /// the mean absolute error, and smaller the better shape and spread fit.
  double pinball_s = 0;
  /// Share of calls within the central interval of 50, 80 and 95 %: at best these very shares.
  double within50 = 0, within80 = 0, within95 = 0;
  /// Geometric mean of the upper over the lower end of the 80 % interval.
  double spread80 = 0;
};

struct CalibrationConfig {
  double held_out = 0.3;  // share of trajectories, chosen by their name
  int fewest_calls = 20;  // of a tool that gets a row of its own
};

/// Whether the trajectory is held out: the same answer on every machine.
bool is_held_out(const std::string& job, double share);

/// Lets the estimator learn from the calls of all other trajectories, in the order given, and then
/// forecast the held-out ones without learning. The row "all" first, then tools by name.
std::vector<Calibration> calibrate(std::span<const TimedCall> calls,
                                   const EstimatorConfig& estimator,
                                   const CalibrationConfig& config = {});

}  // namespace policies
