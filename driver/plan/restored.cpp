#include "driver/plan/restored.hpp"

#include "driver/plan/history.hpp"
#include "sweeps/definition/assignment.hpp"
#include "sweeps/definition/canonical_json.hpp"
#include "workers/binding/keys.hpp"

namespace driver {
namespace {

constexpr const char* kSeedKey = "repeat.seed";
const std::string kPlugin = "policy.plugin", kDigest = ".sha256";

/// The keys of the cell's configuration that count on sim, and what --set adds.
sweep::ParamMap params_of(const analysis::ConfiguredCell& cell,
                          const std::vector<std::string>& set) {
  const worker::KeyTable& keys = worker::sweep_keys();
  sweep::ParamMap params;
  for (const auto& [key, value] : cell.config)
    if (key != kSeedKey && keys.has(key) && !keys.has_no_effect_on("sim", key))
      params[key] = {value, {"the archive", 0, 0}};
  for (const std::string& text : set) {
    const sweep::Assignment given = sweep::parse_assignment(text);
    if (given.key == kPlugin && !cell.config.contains(kPlugin + kDigest)) continue;  // has none
    params[given.key] = given.param;
  }
  return params;
}

/// A file that the cell read and --set does not name.
std::optional<std::string> unnamed_file(const analysis::ConfiguredCell& cell,
                                        const sweep::ParamMap& params) {
  for (const auto& [setting, value] : cell.config) {
    const std::string& key = setting;
    if (!key.ends_with(kDigest)) continue;
    const std::string name = key.substr(0, key.size() - kDigest.size());
    if ((name.starts_with("workload.") || name == kPlugin) && !params.contains(name)) return name;
  }
  return std::nullopt;
}

/// Throws NotRestored where --set names another file for the workload than the cell read.
void require_same_workload(const analysis::ConfiguredCell& cell, const worker::BoundCell& bound) {
  for (const auto& [setting, value] : cell.config) {
    const std::string& key = setting;
    if (!key.starts_with("workload.") || !key.ends_with(kDigest)) continue;
    const auto read = bound.identity.find(key);
    if (read == bound.identity.end() || !sweep::same_value(read->second, value))
      throw NotRestored("--set " + key.substr(0, key.size() - kDigest.size()) +
                        " names another file than they read");
  }
}

}  // namespace

worker::ExperimentConfig restored(const analysis::ConfiguredCell& cell,
                                  const std::vector<std::string>& set, worker::Profiles& profiles) {
  if (cell.record->backend == "cpu") throw NotRestored("the costs of backend cpu are not modelled");
  const sweep::ParamMap params = params_of(cell, set);
  if (analysis::shown(cell.value("workload.kind")) == "trajectories")
    throw NotRestored("they replayed texts, which this program does not read");
  if (const auto file = unnamed_file(cell, params))
    throw NotRestored("name the file that they read by --set " + *file + "=FILE");
  const auto seed = cell.value(kSeedKey);
  const auto* number = seed ? std::get_if<std::int64_t>(&*seed) : nullptr;
  if (number == nullptr) throw NotRestored("the archive does not have their seeds");
  worker::BoundCell bound = worker::bind(params, "sim", *number, profiles);
  require_same_workload(cell, bound);
  const bool modelled = cell.record->backend == "sim";
  const std::string now = sweep::canonical_json(bound.identity);
  if (modelled && now != cell.record->config_json)
    throw NotRestored("profiles or files are not what they were when the cells ran; " +
                      changes(cell.record->config_json, now));
  if (!modelled && !params.contains("sim.cost_model")) bound.config.cost_model = "kernels";
  const double blocks = cell.figure("gpu_blocks");
  if (!modelled && blocks > 0) bound.config.engine.kv.num_blocks = static_cast<int>(blocks) + 1;
  return bound.config;
}

}  // namespace driver
