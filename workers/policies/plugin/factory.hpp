#pragma once
#include <memory>

#include "workers/engine/step/eviction_rule.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/policies/plugin/config.hpp"

namespace policies {

/// What the plugin of the config decides. Both throw engine::InputError when it cannot be loaded or
/// does not offer that, and their functions when it answers what its header forbids.
std::unique_ptr<engine::QueueOrder> make_plugin_order(const PluginConfig& config);
std::unique_ptr<engine::EvictionRule> make_plugin_eviction(const PluginConfig& config);

}  // namespace policies
