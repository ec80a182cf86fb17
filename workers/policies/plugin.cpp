// The decisions of a shared object that the sweep names.
#include <utility>

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

RetentionEntry plugin_retention() {
  return {"plugin", [](const PolicyConfig& config) {
            if (!config.plugin.loaded) throw engine::InputError("\"plugin\" needs policy.plugin");
            return make_plugin_retention(config.plugin.loaded, config.pins);
          }};
}

}  // namespace policies
