#pragma once
#include <memory>

#include "workers/engine/step/eviction_rule.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/retention.hpp"
#include "workers/policies/admission/rule.hpp"
#include "workers/policies/plugin/config.hpp"

namespace policies {

/// Loads the plugin of the config, with a state for one cell. Throws engine::InputError when that
/// is impossible.
std::shared_ptr<Plugin> load_plugin(const PluginConfig& config);

/// The rules of a plugin. Making one throws engine::InputError when the plugin does not offer it;
/// calling it does when the plugin answers what its header forbids.
std::unique_ptr<engine::QueueOrder> make_plugin_order(std::shared_ptr<Plugin> plugin);
std::unique_ptr<AdmissionRule> make_plugin_admission(std::shared_ptr<Plugin> plugin);
std::unique_ptr<engine::RetentionPolicy> make_plugin_retention(std::shared_ptr<Plugin> plugin,
                                                               const engine::PinRules& pins);
std::unique_ptr<engine::EvictionRule> make_plugin_eviction(std::shared_ptr<Plugin> plugin);

/// Does as `retention` says, and tells the plugin of every turn that arrives or finishes.
std::unique_ptr<engine::RetentionPolicy> telling_plugin(
    std::shared_ptr<Plugin> plugin, std::unique_ptr<engine::RetentionPolicy> retention);

}  // namespace policies
