#include "workers/binding/key_groups.hpp"
#include "workers/policies/factory.hpp"
#include "workers/policies/plugin/library.hpp"

namespace worker {
namespace {

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
  policy.admission.parameters = policy.eviction_rule.parameters = policy.estimator.parameters =
      policy.parameters;
  policy.max_num_batched_tokens = engine.scheduler.max_num_batched_tokens;
  policy.block_size = engine.kv.block_size;
  bind_plugin(in);
}

}  // namespace worker
