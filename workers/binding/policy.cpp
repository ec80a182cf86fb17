#include "workers/binding/parts.hpp"
#include "workers/policies/factory.hpp"
#include "workers/policies/plugin/library.hpp"

namespace worker {
namespace {

using engine::from_seconds;

void check_text(const ParamBinder& in, const std::string& key, const policies::Parameter& parameter,
                const std::string& text) {
  try {
    parameter.check_text(text);
  } catch (const engine::InputError& error) {
    in.fail(key, error.what());
  }
}

/// What rules declare in their files, where it is given. All are asked for, since a value's default
/// is part of the identity, too.
policies::Parameters bind_parameters(ParamBinder& in) {
  policies::Parameters values;
  for (const auto& [parameter, where] : policies::declared_parameters()) {
    const std::string key = std::string("policy.") + parameter.name;
    policies::Parameters::mapped_type value;
    if (parameter.check_text != nullptr || !parameter.words.empty())
      value = in.text(key);
    else
      value = parameter.is_whole ? in.small(key) : in.number(key);
    if (parameter.check_text != nullptr)
      check_text(in, key, parameter, std::get<std::string>(value));
    if (in.has(key)) values[parameter.name] = std::move(value);
  }
  return values;
}

void bind_admission(ParamBinder& in, policies::AdmissionConfig& admission) {
  admission.rule = in.text("policy.admission");
  admission.max_programs = in.small("policy.max_active_programs");
}

void bind_pins(ParamBinder& in, engine::PinRules& pins) {
  pins.protect_waiting = in.boolean("policy.protect_waiting");
  pins.release_on_handoff = in.boolean("policy.release_on_handoff");
  pins.most_of_pool = in.number("policy.pin_share");
  pins.pressure_victim = in.text("policy.pressure_victim") == "latest_deadline"
                             ? engine::PressureVictim::latest_deadline
                             : engine::PressureVictim::latest_job;
}

void bind_estimator(ParamBinder& in, policies::EstimatorConfig& estimator) {
  estimator.name = in.text("policy.estimator");
  estimator.error.bias = in.number("policy.error_bias");
  estimator.error.sigma = in.number("policy.error_sigma");
  estimator.error.outliers = in.number("policy.error_outliers");
  estimator.error.outlier_factor = in.number("policy.error_outlier_factor");
  estimator.error.missing = in.number("policy.error_missing");
  estimator.error.seed = static_cast<std::uint64_t>(in.integer("policy.error_seed"));
}

/// Loads the plugin once, to refuse one that does not offer what the cell asks of it.
policies::PluginConfig bind_plugin(ParamBinder& in, const policies::PolicyConfig& policy) {
  policies::PluginConfig plugin{.block_size = policy.block_size};
  const std::vector<std::string> axes = policies::plugin_axes(policy);
  if (axes.empty()) return plugin;
  plugin.path = in.file("policy.plugin");
  for (std::size_t i = 0; i < plugin.values.size(); ++i)
    plugin.values[i] = in.number("policy.plugin_value_" + std::to_string(i + 1));
  plugin.time_limit = from_seconds(in.number("policy.plugin_time_limit_s"));
  try {
    const policies::PluginLibrary library(plugin.path);
    for (const std::string& axis : axes) library.require(axis);
    if (const std::string imported = library.imported(); !imported.empty())
      in.record("policy.plugin.imported.sha256", imported);
  } catch (const engine::InputError& error) {
    in.fail("policy.plugin", error.what());
  }
  return plugin;
}

}  // namespace

std::vector<std::string> choices_of_plugin(const std::string& path) {
  const policies::PluginLibrary library(path);
  std::vector<std::string> keys;
  for (const char* axis : {"order", "admission", "retention", "eviction"})
    if (library.offers(axis)) keys.push_back(std::string("policy.") + axis);
  return keys;
}

policies::PolicyConfig bind_policy(ParamBinder& in, const engine::EngineConfig& engine) {
  policies::PolicyConfig policy;
  policy.order = in.text("policy.order");
  bind_admission(in, policy.admission);
  policy.retention = in.text("policy.retention");
  policy.eviction = in.text("policy.eviction");
  policy.parameters = bind_parameters(in);
  policy.admission.parameters = policy.eviction_rule.parameters = policy.estimator.parameters =
      policy.parameters;
  policy.host_eviction = in.text("policy.host_eviction");
  policy.ttl_rule = in.text("policy.ttl_rule");
  policy.prefetch = in.text("policy.prefetch");
  policy.scoring = in.text("policy.scoring");
  bind_estimator(in, policy.estimator);
  bind_pins(in, policy.pins);
  policy.max_num_batched_tokens = engine.scheduler.max_num_batched_tokens;
  policy.block_size = engine.kv.block_size;
  policy.plugin = bind_plugin(in, policy);
  return policy;
}

}  // namespace worker
