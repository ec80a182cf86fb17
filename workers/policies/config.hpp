#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "workers/engine/clock.hpp"
#include "workers/engine/ids.hpp"
#include "workers/engine/retention.hpp"

namespace policies {

enum class VictimRule {
  last_unpinned,   // admitted last among those whose job is not pinned
  latest_job,      // of the job that came last; turns that end their job are spared
  latest_arrival,  // of the job that came last, whatever its turn
};

/// How long the tool runs after this turn of this job; negative where that is not known.
using GapSource = std::function<engine::Nanos(engine::JobId, int turn)>;

/// Log-spread of a forecast that is one number: a factor of 1.28 either way.
inline constexpr double kSpreadOfOneNumber = 0.25;

struct EstimatorError {
  double bias = 1;   // factor
  double sigma = 0;  // of the logarithm of a further factor
  std::uint64_t seed = 42;
  bool any() const { return bias != 1 || sigma != 0; }
};

struct EstimatorConfig {
  std::string name = "tool_mean";
  int enough_calls = 100;  // tool_cdf: calls that must be exceeded before they count
  EstimatorError error{};
  GapSource truth{};  // oracle
  GapSource hints{};  // client_hint
};

/// Seconds to compute the KV of n tokens of context: fixed + linear n + quadratic n^2.
struct ReloadCost {
  double fixed_s = 0, linear_s = 0, quadratic_s = 0;
  double seconds(double n) const { return fixed_s + (linear_s + quadratic_s * n) * n; }
  bool known() const { return seconds(1) > 0; }
};

/// One point of the policy space, as its axes. Values that an axis does not use are ignored.
struct PolicyConfig {
  std::string order = "fcfs";
  std::string retention = "free";

  VictimRule victim = VictimRule::last_unpinned;  // orders job_fcfs, cache_ttl
  int max_active_programs = 0;                    // jobs begun and not over; 0: no limit

  // retentions pin, infercept
  EstimatorConfig estimator{};
  engine::PinRules pins{};
  ReloadCost reload{};                // ttl rules utility and ski_rental, infercept
  double swap_s_per_tok = 0;          // infercept: one way, over the link; 0: nothing to swap to
  int max_num_batched_tokens = 2048;  // tokens that one step recomputes at most
  int block_size = 16;                // tokens

  // prefetch over a host tier: none, or the estimator that foretells when jobs come back
  std::string prefetch = "none";
  std::string scoring = "S5";

  // retention pin
  std::string ttl_rule = "fixed";
  engine::Nanos ttl{2'000'000'000};
  engine::Nanos threshold{
      2'000'000'000};               // rule fixed: pins only for tools expected to take at most this
  engine::Nanos wait_half_life{0};  // rule utility: decay of the mean queue wait; 0: none
};

}  // namespace policies
