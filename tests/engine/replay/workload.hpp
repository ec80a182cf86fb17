#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workers/engine/base/ids.hpp"
#include "workers/engine/cache/config.hpp"
#include "workers/engine/scheduler/config.hpp"
#include "workers/engine/tiers/config.hpp"

namespace worker {

/// One request of a scheduling workload, by steps instead of times.
struct ScriptedRequest {
  std::string id;
  int arrival_step = 0;
  std::optional<int> abort_step;
  int priority = 0;
  std::optional<double>
      arrival_time;  // compared by the priority order; by default the rank of arrival
  std::vector<engine::TokenId> prompt;
  std::vector<engine::TokenId> outputs;  // forced
  std::optional<engine::TokenId> eos = std::nullopt;
};

/// The host tier of a workload, over a device that copies in steps.
struct ScriptedTier {
  engine::TierConfig config;
  int transfer_steps = 1;  // from a copy's submission to the step that finds it done
};

struct SchedulerWorkload {
  std::string name;
  engine::KvConfig kv;
  engine::SchedulerConfig scheduler;
  std::string order;  // fcfs | priority
  std::optional<ScriptedTier> tier;
  std::vector<ScriptedRequest> requests;
};

/// The finalizer of Steele, Lea and Flood's SplittableRandom, of x and its increment.
std::uint64_t splitmix64(std::uint64_t x);

/// The i-th token of the stream `seed`: below 32,000, a hash of both.
engine::TokenId stream_token(std::uint64_t seed, std::uint64_t i);

/// Reads and checks a workload file, to be served as this release of vLLM does. Throws
/// engine::InputError, also where the release has no such key.
SchedulerWorkload load_scheduler_workload(const std::string& path, engine::Version version);

}  // namespace worker
