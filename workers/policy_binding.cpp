#include <limits>

#include "workers/binding_parts.hpp"
#include "workers/policies/factory.hpp"

namespace worker {
namespace {

using engine::from_seconds;

void bind_order(ParamBinder& in, policies::PolicyConfig& policy) {
  policy.order = in.choice("policy.order", policy.order, policies::order_names());
  policy.max_active_programs =
      in.small("policy.max_active_programs", 0, 0, std::numeric_limits<int>::max());
  const std::string victim = in.choice("policy.victim", "last_unpinned",
                                       {"last_unpinned", "latest_job", "latest_arrival"});
  policy.victim = victim == "latest_job"       ? policies::VictimRule::latest_job
                  : victim == "latest_arrival" ? policies::VictimRule::latest_arrival
                                               : policies::VictimRule::last_unpinned;
  // What the chosen axes do not look at is no part of the cell.
  if (policy.max_active_programs == 0) in.forget({"policy.max_active_programs"});
  if (policy.order != "job_fcfs" && policy.order != "cache_ttl") in.forget({"policy.victim"});
}

void bind_pins(ParamBinder& in, engine::PinRules& pins) {
  pins.protect_waiting = in.boolean("policy.protect_waiting", false);
  pins.release_on_handoff = in.boolean("policy.release_on_handoff", false);
  const std::string pressure =
      in.choice("policy.pressure_victim", "latest_job", {"latest_job", "latest_deadline"});
  pins.pressure_victim = pressure == "latest_deadline" ? engine::PressureVictim::latest_deadline
                                                       : engine::PressureVictim::latest_job;
}

/// Values that equal their defaults are left out of the cell, so that cells of before an estimator
/// could be chosen keep their keys.
void bind_estimator(ParamBinder& in, policies::EstimatorConfig& estimator,
                    const std::string& prefetch) {
  estimator.name = in.choice("policy.estimator", estimator.name, policies::estimator_names());
  estimator.enough_calls = in.small("policy.estimator_calls", estimator.enough_calls, 0, 1 << 30);
  estimator.error.bias = in.number("policy.error_bias", 1, 1e-6, 1e6);
  estimator.error.sigma = in.number("policy.error_sigma", 0, 0, 10);
  estimator.error.seed =
      static_cast<std::uint64_t>(in.integer("policy.error_seed", 42, 0, INT64_MAX));
  if (estimator.name == "tool_mean") in.forget({"policy.estimator"});
  if (estimator.name != "tool_cdf" && prefetch != "tool_cdf") in.forget({"policy.estimator_calls"});
  if (!estimator.error.any())
    in.forget({"policy.error_bias", "policy.error_sigma", "policy.error_seed"});
}

/// Left out of cells that prefetch nothing.
void bind_prefetch(ParamBinder& in, policies::PolicyConfig& policy) {
  policy.prefetch = in.choice("policy.prefetch", policy.prefetch, policies::prefetch_names());
  policy.scoring = in.choice("policy.scoring", policy.scoring, policies::scoring_names());
  if (policy.prefetch == "none") in.forget({"policy.prefetch", "policy.scoring"});
}

void bind_ttl(ParamBinder& in, policies::PolicyConfig& policy) {
  policy.ttl_rule = in.choice("policy.ttl_rule", policy.ttl_rule, policies::ttl_rule_names());
  policy.ttl = from_seconds(in.number("policy.ttl_s", 2.0, 0, 1e6));
  policy.threshold = from_seconds(in.number("policy.threshold_s", 2.0, 0, 1e6));
  policy.wait_half_life = from_seconds(in.number("policy.wait_half_life_s", 0, 0, 1e6));
  if (policy.ttl_rule == "fixed") in.forget({"policy.ttl_rule"});
  if (policy.ttl_rule != "fixed") in.forget({"policy.ttl_s", "policy.threshold_s"});
  if (policy.ttl_rule != "utility") in.forget({"policy.wait_half_life_s"});
}

}  // namespace

policies::PolicyConfig bind_policy(ParamBinder& in, const engine::EngineConfig& engine) {
  policies::PolicyConfig policy;
  bind_order(in, policy);
  policy.retention = in.choice("policy.retention", policy.retention, policies::retention_names());
  bind_ttl(in, policy);
  bind_prefetch(in, policy);
  bind_estimator(in, policy.estimator, policy.prefetch);
  bind_pins(in, policy.pins);
  policy.max_num_batched_tokens = engine.scheduler.max_num_batched_tokens;
  policy.block_size = engine.kv.block_size;
  const bool pins = policy.retention == "pin";
  if (!pins)
    in.forget({"policy.ttl_rule", "policy.ttl_s", "policy.threshold_s", "policy.wait_half_life_s"});
  const bool keeps = pins || policy.retention == "infercept";
  if (!keeps)
    in.forget({"policy.protect_waiting", "policy.release_on_handoff", "policy.pressure_victim",
               "policy.estimator"});
  if (!keeps && policy.prefetch == "none")
    in.forget(
        {"policy.estimator_calls", "policy.error_bias", "policy.error_sigma", "policy.error_seed"});
  return policy;
}

}  // namespace worker
