#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "workers/engine/cache/host_eviction.hpp"
#include "workers/engine/prefetch/policy.hpp"
#include "workers/engine/step/eviction_rule.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/retention.hpp"
#include "workers/policies/admission/rule.hpp"
#include "workers/policies/estimators/gap_estimator.hpp"
#include "workers/policies/plugin/config.hpp"

namespace policies {

/// Loads the plugin of the config, with a state for one cell. Throws engine::InputError when that
/// is impossible.
std::shared_ptr<Plugin> load_plugin(const PluginConfig& config);

/// What the plugin decides. All throw engine::InputError when it does not offer that, and their
/// functions when it answers what its header forbids.
std::unique_ptr<engine::QueueOrder> make_plugin_order(std::shared_ptr<Plugin> plugin);
std::unique_ptr<AdmissionRule> make_plugin_admission(std::shared_ptr<Plugin> plugin);
std::unique_ptr<engine::RetentionPolicy> make_plugin_retention(std::shared_ptr<Plugin> plugin,
                                                               const engine::PinRules& pins);
std::unique_ptr<GapEstimator> make_plugin_estimator(std::shared_ptr<Plugin> plugin);
std::unique_ptr<engine::EvictionRule> make_plugin_eviction(std::shared_ptr<Plugin> plugin);
std::unique_ptr<engine::HostEviction> make_plugin_host_eviction(std::shared_ptr<Plugin> plugin);

/// Seconds to recompute the last `missing_tokens` tokens of a context of `context_tokens`.
using RecomputeTime = std::function<double(int context_tokens, int missing_tokens)>;
std::unique_ptr<engine::PrefetchPolicy> make_plugin_prefetch(std::shared_ptr<Plugin> plugin,
                                                             RecomputeTime recompute_s);

/// A time to live of pins, and its reason.
struct PluginHold {
  engine::Nanos ttl{0};
  engine::KvReason reason = engine::KvReason::none;
};
/// Asks the plugin for the time to live of a pin of the turn's KV.
PluginHold plugin_ttl(Plugin& plugin, const engine::Request& turn, engine::Nanos now,
                      const std::optional<GapForecast>& forecast);

/// Does as `retention` says, and tells the plugin of every turn that arrives or finishes.
std::unique_ptr<engine::RetentionPolicy> telling_plugin(
    std::shared_ptr<Plugin> plugin, std::unique_ptr<engine::RetentionPolicy> retention);

}  // namespace policies
