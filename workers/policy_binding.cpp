#include "workers/binding_parts.hpp"
#include "workers/policies/factory.hpp"

namespace worker {

policies::PolicyConfig bind_policy(ParamBinder& in) {
  policies::PolicyConfig policy;
  policy.order = in.choice("policy.order", policy.order, policies::order_names());
  policy.retention = in.choice("policy.retention", policy.retention, policies::retention_names());
  const std::string victim =
      in.choice("policy.victim", "last_unpinned", {"last_unpinned", "latest_job"});
  policy.victim = victim == "latest_job" ? policies::VictimRule::latest_job
                                         : policies::VictimRule::last_unpinned;
  policy.ttl = engine::from_seconds(in.number("policy.ttl_s", 2.0, 0, 1e6));
  policy.threshold = engine::from_seconds(in.number("policy.threshold_s", 2.0, 0, 1e6));
  policy.pins.protect_waiting = in.boolean("policy.protect_waiting", false);
  policy.pins.release_on_handoff = in.boolean("policy.release_on_handoff", false);
  const std::string pressure =
      in.choice("policy.pressure_victim", "latest_job", {"latest_job", "latest_deadline"});
  policy.pins.pressure_victim = pressure == "latest_deadline"
                                    ? engine::PressureVictim::latest_deadline
                                    : engine::PressureVictim::latest_job;
  // What the chosen axes do not look at is no part of the cell.
  if (policy.order != "job_fcfs") in.forget({"policy.victim"});
  if (policy.retention != "pin") {
    in.forget({"policy.ttl_s", "policy.threshold_s", "policy.protect_waiting",
               "policy.release_on_handoff", "policy.pressure_victim"});
  }
  return policy;
}

}  // namespace worker
