#pragma once
#include <string>

#include "workers/engine/clock.hpp"
#include "workers/engine/retention.hpp"

namespace policies {

enum class VictimRule { last_unpinned, latest_job };

/// One point of the policy space, as its axes. Values that an axis does not use are ignored.
struct PolicyConfig {
  std::string order = "fcfs";
  std::string retention = "free";

  VictimRule victim = VictimRule::last_unpinned;  // order job_fcfs

  // retention pin
  engine::Nanos ttl{2'000'000'000};
  engine::Nanos threshold{
      2'000'000'000};  // pins only for tools whose mean duration is at most this
  engine::PinRules pins{};
};

}  // namespace policies
