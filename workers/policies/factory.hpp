#pragma once
#include <memory>

#include "workers/engine/prefetch/policy.hpp"
#include "workers/policies/host_eviction/config.hpp"
#include "workers/policies/names.hpp"
#include "workers/policies/order/config.hpp"
#include "workers/policies/ttl_rule.hpp"

namespace policies {

/// The axes on which the config's plugin decides: "order" and so on.
std::vector<std::string> plugin_axes(const PolicyConfig& config);
/// The config with its plugin, if it uses one, loaded with a state for one cell; what is made of
/// the result shares that state. Throws engine::InputError when the plugin cannot be loaded.
PolicyConfig with_plugin(PolicyConfig config);

/// All throw engine::InputError: when the config's name is not in the build (the error lists those
/// that are), or when a part lacks a parameter that it needs.
std::unique_ptr<engine::QueueOrder> make_order(const PolicyConfig& config);
std::unique_ptr<engine::RetentionPolicy> make_retention(const PolicyConfig& config);
std::unique_ptr<TtlRule> make_ttl_rule(const PolicyConfig& config);
/// Empty for lru and partial_first.
engine::EvictionChoice make_eviction(const PolicyConfig& config);
/// The host tier's order of eviction; null for lru. Borrows the order.
std::unique_ptr<engine::HostEviction> make_host_eviction(const PolicyConfig& config,
                                                         const engine::QueueOrder& order);
/// Null when nothing is prefetched.
std::unique_ptr<engine::PrefetchPolicy> make_prefetch(const PolicyConfig& config);

}  // namespace policies
