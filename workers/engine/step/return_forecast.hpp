#pragma once
#include "workers/engine/base/request.hpp"

namespace engine {

/// Predicts when jobs return. The engine reports their turns.
class ReturnForecast {
 public:
  virtual ~ReturnForecast() = default;
  /// A turn has arrived: the job's tool, if one ran, has finished.
  virtual void on_arrival(const Request& request) = 0;
  /// The turn has finished, another follows, and its tool starts.
  virtual void on_turn_finish(const Request& request, Nanos now) = 0;
  /// The time by which the job's next turn arrives with this probability, in (0, 1), given that it
  /// has not arrived by `now`. Never earlier than `now`.
  virtual Nanos returns_by(JobId job, double probability, Nanos now) const = 0;
};

}  // namespace engine
