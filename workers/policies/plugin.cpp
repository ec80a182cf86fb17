// The decisions of a shared object that the sweep names.
#include <utility>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/factory.hpp"
#include "workers/policies/plugin/factory.hpp"

namespace policies {

std::vector<std::string> plugin_axes(const PolicyConfig& config) {
  const std::pair<const char*, const std::string&> axes[] = {{"order", config.order},
                                                             {"admission", config.admission.rule},
                                                             {"retention", config.retention},
                                                             {"eviction", config.eviction}};
  std::vector<std::string> names;
  for (const auto& [axis, choice] : axes)
    if (choice == "plugin") names.emplace_back(axis);
  return names;
}

PolicyConfig with_plugin(PolicyConfig config) {
  if (plugin_axes(config).empty()) return config;
  const std::shared_ptr<Plugin> plugin = load_plugin(config.plugin);
  config.plugin.loaded = plugin;
  config.given_order = [plugin] { return make_plugin_order(plugin); };
  config.admission.given = [plugin] { return make_plugin_admission(plugin); };
  config.eviction_rule.given = [plugin] { return make_plugin_eviction(plugin); };
  return config;
}

const std::shared_ptr<Plugin>& loaded_plugin(const PolicyConfig& config) {
  if (!config.plugin.loaded) throw engine::InputError("\"plugin\" needs policy.plugin");
  return config.plugin.loaded;
}

std::unique_ptr<engine::RetentionPolicy> make_plugin_retention(const PolicyConfig& config) {
  return make_plugin_retention(loaded_plugin(config), config.pins);
}

}  // namespace policies
