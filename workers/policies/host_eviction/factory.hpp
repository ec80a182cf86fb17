#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/cache/host_eviction.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/estimators/config.hpp"

namespace policies {

/// Settings of the rules. Values that a rule does not use are ignored.
struct HostEvictionConfig {
  EstimatorConfig estimator{};                // next_use
  const engine::QueueOrder* order = nullptr;  // next_use: the turns that wait; borrowed
  Parameters parameters{};                    // that rules declare
};

/// Appends what the rules declare.
void add_host_eviction_parameters(std::vector<DeclaredParameter>& all);
/// Names of the rules in this build, for error messages. "lru" and "arc" are orders of
/// the host pool itself.
std::vector<std::string> host_eviction_names();

/// Null for "lru" and "arc". Throws engine::InputError when the name is not in the build (the error
/// lists those that are).
std::unique_ptr<engine::HostEviction> make_host_eviction(const std::string& name,
                                                         const HostEvictionConfig& config);

}  // namespace policies
