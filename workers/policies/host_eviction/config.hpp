#pragma once
#include "workers/engine/cache/host_eviction.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/estimators/axis.hpp"
#include "workers/policies/estimators/config.hpp"

namespace policies {

/// Settings of the rules. Values that a rule does not use are ignored.
struct HostEvictionConfig {
  EstimatorConfig estimator{};                // next_use
  const engine::QueueOrder* order = nullptr;  // next_use: the turns that wait; borrowed
  Parameters parameters{};                    // that rules declare
};

using HostRuleEntry = Entry<engine::HostEviction, HostEvictionConfig>;
/// "lru" and "arc" are orders of the host pool itself, for which null is made.
const Axis<engine::HostEviction, HostEvictionConfig>& host_evictions();

}  // namespace policies
