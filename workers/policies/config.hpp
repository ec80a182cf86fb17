#pragma once
#include <functional>
#include <string>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/retention.hpp"
#include "workers/policies/admission/config.hpp"
#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/work_history.hpp"
#include "workers/policies/eviction/config.hpp"
#include "workers/policies/plugin/config.hpp"

namespace policies {

/// Seconds to compute the KV of n tokens of context: fixed + linear n + quadratic n^2.
struct ReloadCost {
  double fixed_s = 0, linear_s = 0, quadratic_s = 0;
  double seconds(double n) const { return fixed_s + (linear_s + quadratic_s * n) * n; }
  /// Seconds for the last `missing` tokens of a context.
  double seconds_of(int missing, int context) const {
    return seconds(context) - seconds(context - missing);
  }
  /// The cost. Throws engine::InputError, which names the key, where it is not known.
  const ReloadCost& known_for(const std::string& key) const {
    if (seconds(1) > 0) return *this;
    throw engine::InputError(key + " needs to know what a prefill costs");
  }
};

/// One point of the policy space. Values that an axis does not use are ignored.
struct PolicyConfig {
  std::string order = "fcfs";
  std::string retention = "free";
  std::string eviction = "lru";
  std::string host_eviction = "lru";
  EvictionConfig eviction_rule{};
  std::function<std::unique_ptr<engine::QueueOrder>()> given_order{};  // plugin
  PluginConfig plugin{};  // wherever an axis says plugin

  WorkSource true_work{};   // order srpt, oracle and hint
  Parameters parameters{};  // that rules declare
  AdmissionConfig admission{};

  // retentions pin, infercept
  EstimatorConfig estimator{};
  engine::PinRules pins{};
  ReloadCost reload{};        // ttl rules utility and ski_rental, infercept, eviction cost_aware
  double swap_s_per_tok = 0;  // infercept: one way, over the link; 0: no swapping
  int max_num_batched_tokens = 2048;  // most tokens that one step recomputes
  int block_size = 16;                // tokens

  // prefetch over a host tier: none, or the estimator that predicts when jobs return
  std::string prefetch = "none";
  std::string scoring = "S5";

  // retention pin
  std::string ttl_rule = "fixed";
};

using RetentionEntry = Entry<engine::RetentionPolicy, PolicyConfig>;

/// Fits the seconds of a prefill of n tokens, measured or modelled, as fixed + linear n + quadratic
/// n^2: least squares over 1024, 2048, 4096, 8192 and 16384 tokens.
ReloadCost fit_reload_cost(const std::function<double(int tokens)>& prefill_s);

}  // namespace policies
