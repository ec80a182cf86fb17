#pragma once
#include <optional>

#include "workers/engine/retention.hpp"
#include "workers/policies/gap_forecast.hpp"

namespace policies {

/// How long a finished turn's KV is worth keeping, and what the decision rests on.
struct Hold {
  engine::Nanos ttl{0};
  engine::KvReason reason = engine::KvReason::none;
};

/// Chooses the time to live of pins.
class TtlRule {
 public:
  virtual ~TtlRule() = default;
  /// A client submitted it. Requests keep their address while they are in the engine.
  virtual void on_arrival(const engine::Request&) {}
  /// Every finished turn, a job's last as well, before decide().
  virtual void on_turn_finish(const engine::Request&, engine::Nanos) {}
  virtual Hold decide(const engine::Request& request, engine::Nanos now,
                      const std::optional<GapForecast>& forecast) = 0;
};

}  // namespace policies
