#pragma once
#include "workers/engine/cache/config.hpp"
#include "workers/engine/scheduler/config.hpp"
#include "workers/engine/step/eviction_rule.hpp"
#include "workers/engine/tiers/config.hpp"

namespace engine {

struct EngineConfig {
  KvConfig kv;
  SchedulerConfig scheduler;
  TierConfig tier{};
  EvictionChoice eviction{};
  bool async_scheduling = false;  // schedules a step while the one before it runs
};

}  // namespace engine
