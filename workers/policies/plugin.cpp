// The decisions of a shared object that the sweep names.
#include <algorithm>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/factory.hpp"
#include "workers/policies/plugin/factory.hpp"

namespace policies {
namespace {

class PluginTtl final : public TtlRule {
 public:
  explicit PluginTtl(std::shared_ptr<Plugin> plugin) : plugin_(std::move(plugin)) {}

  Hold decide(const engine::Request& request, engine::Nanos now,
              const std::optional<GapForecast>& forecast) override {
    const PluginHold hold = plugin_ttl(*plugin_, request, now, forecast);
    return {hold.ttl, hold.reason};
  }

 private:
  std::shared_ptr<Plugin> plugin_;
};

}  // namespace

std::vector<std::string> plugin_axes(const PolicyConfig& config) {
  const bool pins = config.retention == "pin";
  const bool estimates = pins || config.retention == "infercept" || config.eviction == "next_use" ||
                         config.host_eviction == "next_use";
  const struct {
    const char* axis;
    bool counts;
    const std::string& choice;
  } axes[] = {{"order", true, config.order},
              {"admission", true, config.admission.rule},
              {"retention", true, config.retention},
              {"ttl_rule", pins, config.ttl_rule},
              {"estimator", estimates, config.estimator.name},
              {"prefetch", true, config.prefetch},
              {"eviction", true, config.eviction},
              {"host_eviction", true, config.host_eviction}};
  std::vector<std::string> names;
  for (const auto& axis : axes)
    if (axis.counts && axis.choice == "plugin") names.emplace_back(axis.axis);
  return names;
}

PolicyConfig with_plugin(PolicyConfig config) {
  if (plugin_axes(config).empty()) return config;
  const std::shared_ptr<Plugin> plugin = load_plugin(config.plugin);
  config.plugin.loaded = plugin;
  config.given_order = [plugin] { return make_plugin_order(plugin); };
  config.admission.given = [plugin] { return make_plugin_admission(plugin); };
  config.estimator.given = [plugin] { return make_plugin_estimator(plugin); };
  config.eviction_rule.given = [plugin] { return make_plugin_eviction(plugin); };
  config.given_host_eviction = [plugin] { return make_plugin_host_eviction(plugin); };
  return config;
}

const std::shared_ptr<Plugin>& loaded_plugin(const PolicyConfig& config) {
  if (!config.plugin.loaded) throw engine::InputError("\"plugin\" needs policy.plugin");
  return config.plugin.loaded;
}

std::unique_ptr<engine::RetentionPolicy> make_plugin_retention(const PolicyConfig& config) {
  return make_plugin_retention(loaded_plugin(config), config.pins);
}

std::unique_ptr<TtlRule> make_plugin_ttl(const PolicyConfig& config) {
  return std::make_unique<PluginTtl>(loaded_plugin(config));
}

}  // namespace policies
