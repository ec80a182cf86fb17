#include "analysis/compare/compare.hpp"

#include <algorithm>
#include <map>

#include "sweeps/definition/canonical_json.hpp"

namespace analysis {
namespace {

constexpr const char* kSeed = "repeat.seed";

/// Keys that must be equal in every comparison: figures of different backends, or of emulated and
/// real cards, are of different kinds.
bool never_compared(const std::string& key) { return key == "backend" || key == "engine.emulate"; }

bool follows(const std::string& key, const std::string& named) {
  if (key == named || key.starts_with(named + '.')) return true;
  // A server's profile takes the place of a policy.
  if (named == "policy")
    return key == "server.command" || key.starts_with("server.env.") ||
           key.starts_with("server.request.");
  if (named == "model" && key == "engine.dtype") return true;
  if (named == "gpu" || named == "model" || named == "engine.kv_dtype")
    return key == "sim.cost_model" || key == "sim.constants" || key == "engine.kv_tokens";
  if (named == "sim.cost_model") return key == "sim.constants";
  if (named == "engine.max_model_len") return key == "workload.max_context";
  return false;
}

/// Whether the difference is only that a policy without a host tier has no key of the tier.
bool is_missing_tier(const ConfigDifference& difference, const ConfiguredCell& a,
                     const ConfiguredCell& b) {
  if (difference.a.has_value() == difference.b.has_value()) return false;
  if (difference.key == "dram_gib") return true;
  const bool is_simulated = difference.key == "sim.tier_scale" || difference.key == "sim.link" ||
                            difference.key == "sim.block_copy_us";
  const Config& without = difference.a ? b.config : a.config;
  return is_simulated && !without.contains("policy.host_memory");
}

bool may_differ(const ConfigDifference& difference, const ConfiguredCell& a,
                const ConfiguredCell& b, const std::vector<std::string>& named) {
  if (difference.key == kSeed) return true;
  return std::ranges::any_of(named, [&](const std::string& key) {
    // The engine's results may have changed under one policy and not under the other.
    const bool of_policy = key.starts_with("policy") && difference.key == "engine_abi";
    return follows(difference.key, key) || (of_policy && a.value(key) != b.value(key)) ||
           (key == "policy" && is_missing_tier(difference, a, b));
  });
}

/// Whether a key of the configuration is written by the program and not by the sweep.
bool is_derived(const std::string& key) {
  return key == "sim.constants" || key == "engine_abi" || key == "schema" ||
         key.ends_with(".sha256");
}

/// How well a difference says what was set: least for axes of the sweep, most for what follows.
int distance_from_sweep(const ConfigDifference& difference,
                        const std::vector<ConfigDifference>& all, const ConfiguredCell& a,
                        const ConfiguredCell& b) {
  const std::string& key = difference.key;
  if (never_compared(key)) return 0;
  if (is_derived(key)) return 4;
  if (std::ranges::any_of(
          all, [&](const auto& each) { return each.key != key && follows(key, each.key); }))
    return 3;
  return sweep::value_on(a.record->axes, key) != nullptr ||
                 sweep::value_on(b.record->axes, key) != nullptr
             ? 1
             : 2;
}

std::string name_of(const ConfiguredCell& cell) {
  return std::to_string(cell.record->index) + " (" + cell.record->label + ')';
}

[[noreturn]] void refuse(const ConfiguredCell& a, const ConfiguredCell& b,
                         const ConfigDifference& difference) {
  const std::string advice =
      never_compared(difference.key)
          ? "results of different backends and emulations are never compared"
      : is_derived(difference.key)
          ? "the program or a file of one of them has changed since: run it again, or choose cells "
            "with --only"
          : "name it in --by, or choose cells with --only";
  throw CompareError("cells " + name_of(a) + " and " + name_of(b) + " differ in " + difference.key +
                     ": " + shown(difference.a) + " and " + shown(difference.b) + "; " + advice);
}

}  // namespace

std::optional<ConfigDifference> first_incomparable(const ConfiguredCell& a, const ConfiguredCell& b,
                                                   const std::vector<std::string>& named) {
  std::vector<ConfigDifference> all = config_differences(a.config, b.config);
  std::erase_if(all, [&](const ConfigDifference& each) {
    return !never_compared(each.key) && may_differ(each, a, b, named);
  });
  const auto told = std::ranges::min_element(
      all, {}, [&](const ConfigDifference& each) { return distance_from_sweep(each, all, a, b); });
  return told == all.end() ? std::nullopt : std::optional(*told);
}

void require_comparable(const ConfiguredCell& a, const ConfiguredCell& b,
                        const std::vector<std::string>& named) {
  if (const auto difference = first_incomparable(a, b, named)) refuse(a, b, *difference);
}

std::string key_text(const std::optional<sweep::Value>& value) {
  if (!value) return "";
  return sweep::canonical_json(std::map<std::string, sweep::Value>{{"", *value}});
}

std::vector<RepeatGroup> groups_by(std::span<const ConfiguredCell> cells,
                                   const std::vector<std::string>& keys) {
  std::vector<RepeatGroup> groups;
  std::map<std::string, std::size_t> position;
  for (const ConfiguredCell& cell : cells) {
    if (cell.record->status != sweep::CellStatus::ok) continue;
    RepeatGroup found;
    std::string text;
    for (const std::string& key : keys) {
      found.at.push_back(cell.value(key));
      found.texts.push_back(key_text(found.at.back()));
      text += found.texts.back() + '\n';
    }
    const auto [place, is_new] = position.emplace(text, groups.size());
    if (is_new) groups.push_back(std::move(found));
    RepeatGroup& group = groups[place->second];
    if (!group.repeats.empty()) require_comparable(*group.repeats.front(), cell, {});
    group.repeats.push_back(&cell);
  }
  return groups;
}

}  // namespace analysis
