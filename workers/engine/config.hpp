#pragma once
#include "workers/engine/cache/config.hpp"
#include "workers/engine/scheduler/config.hpp"
#include "workers/engine/step/return_forecast.hpp"
#include "workers/engine/tiers/config.hpp"

namespace engine {

struct EngineConfig {
  KvConfig kv;
  SchedulerConfig scheduler;
  TierConfig tier{};
  ReturnForecast* next_use = nullptr;  // evicts the KV that is used last by it; null: LRU. Borrowed
};

}  // namespace engine
