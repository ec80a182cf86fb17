#pragma once
#include <optional>

#include "workers/policies/config.hpp"

namespace policies {

/// How long a finished turn's KV is worth keeping, and the reason for that decision.
struct Hold {
  engine::Nanos ttl{0};
  engine::KvReason reason = engine::KvReason::none;
};

/// Chooses the time to live of pins.
class TtlRule {
 public:
  virtual ~TtlRule() = default;
  /// The client submitted the request. Requests keep their address while they are in the engine.
  virtual void on_arrival(const engine::Request&) {}
  /// Called for every finished turn, including a job's last, before decide().
  virtual void on_turn_finish(const engine::Request&, engine::Nanos) {}
  virtual Hold decide(const engine::Request& request, engine::Nanos now,
                      const std::optional<GapForecast>& forecast) = 0;
};

using TtlEntry = Entry<TtlRule, PolicyConfig>;

}  // namespace policies
