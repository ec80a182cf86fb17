#include "workers/binding/key_groups.hpp"
#include "workers/policies/factory.hpp"
#include "workers/policies/plugin/library.hpp"

namespace worker {
namespace {

/// What rules declare in their files, where it is given. All are asked for, since a value's default
/// is part of the identity, too.
policies::Parameters bind_parameters(ParamBinder& in) {
  policies::Parameters values;
  for (const auto& [parameter, where] : policies::declared_parameters()) {
    const std::string key = std::string("policy.") + parameter.name;
    const sweep::Value value = in.value(key);
    if (!in.has(key)) continue;
    const auto* whole = std::get_if<std::int64_t>(&value);
    if (const auto* text = std::get_if<std::string>(&value))
      values[parameter.name] = *text;
    else
      values[parameter.name] =
          whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  }
  return values;
}

/// Loads the plugin once, to refuse one that does not offer what the cell asks of it.
void bind_plugin(ParamBinder& in) {
  policies::PluginConfig& plugin = in.config.policy.plugin;
  plugin.block_size = in.config.policy.block_size;
  const std::vector<std::string> axes = policies::plugin_axes(in.config.policy);
  if (axes.empty()) return;
  plugin.path = in.file("policy.plugin");
  try {
    const policies::PluginLibrary library(plugin.path);
    for (const std::string& axis : axes) library.require(axis);
    if (const std::string imported = library.imported(); !imported.empty())
      in.record("policy.plugin.imported.sha256", imported);
  } catch (const engine::InputError& error) {
    in.fail("policy.plugin", error.what());
  }
}

}  // namespace

void bind_policy(ParamBinder& in) {
  const engine::EngineConfig& engine = in.config.engine;
  policies::PolicyConfig& policy = in.config.policy;
  policy.parameters = bind_parameters(in);
  policy.admission.parameters = policy.eviction_rule.parameters = policy.estimator.parameters =
      policy.parameters;
  policy.max_num_batched_tokens = engine.scheduler.max_num_batched_tokens;
  policy.block_size = engine.kv.block_size;
  bind_plugin(in);
}

}  // namespace worker
