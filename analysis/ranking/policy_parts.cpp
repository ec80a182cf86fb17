#include "analysis/ranking/policy_parts.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace analysis {
namespace {

/// A part of a policy: the key that turns it on, its value for off, the keys that go with it, and
/// named policies that have this part alone.
struct PartKeys {
  std::string_view name, main, off;
  std::vector<std::string_view> others;
  std::vector<std::pair<std::string_view, std::string_view>> alone;  // value, policy
};

const std::array<PartKeys, 8>& part_keys() {
  static const std::array<PartKeys, 8> keys = {
      {{"order",
        "policy.order",
        "fcfs",
        {"policy.victim", "policy.remaining_work", "policy.prefix_window", "policy.prefix_age_s"},
        {{"job_fcfs", "job_fcfs"}}},
       {"admission",
        "policy.admission",
        "max_programs",
        {"policy.max_active_programs", "policy.horizon", "policy.pool_share",
         "policy.admission_period_s", "policy.first_turns_share"},
        {}},
       {"eviction",
        "policy.eviction",
        "lru",
        {"policy.protected_fraction", "policy.slru_counts", "policy.spare_tokens",
         "policy.retained"},
        {}},
       {"tier",
        "policy.tier",
        "none",
        {"policy.store", "policy.tail_store", "policy.host_eviction", "policy.chunk_tokens",
         "policy.save_decode", "policy.connector_cost_s", "policy.schedule_cost_s",
         "policy.save_cost_s"},
        {{"offload", "cpu_offload"}, {"lmcache", "lmcache"}}},
       {"prefetch", "policy.prefetch", "none", {"policy.scoring"}, {}},
       {"preemption", "policy.preemption", "recompute", {"policy.swap_partially"}, {}},
       {"layout", "policy.layout", "paged", {"policy.max_new_tokens"}, {}},
       {"retention", "policy.retention", "free", {}, {{"pin", "pin"}}}}};  // and all other keys
  return keys;
}

/// Host memory serves a tier or, without one, preemption.
std::string_view part_of(std::string_view key, bool has_tier) {
  if (key == "dram_gib" || key == "policy.host_memory" || key == "policy.duplex")
    return has_tier ? "tier" : "preemption";
  for (const PartKeys& part : part_keys())
    if (key == part.main || std::ranges::find(part.others, key) != part.others.end())
      return part.name;
  return "retention";
}

}  // namespace

Parts parts_of(const ConfiguredCell& cell) {
  const bool has_tier = cell.value("policy.tier").value_or("none") != sweep::Value("none");
  Parts parts;
  std::string plugin;                  // which one, and its parameters
  std::set<std::string_view> decides;  // the parts that a key leaves to it
  for (const auto& [setting, value] : cell.config) {
    const std::string& key = setting;
    if (key != "dram_gib" && !key.starts_with("policy.")) continue;
    if (key.starts_with("policy.plugin")) {
      plugin += key + '=' + shown(value) + '\n';
      continue;
    }
    const std::string_view name = part_of(key, has_tier);
    const auto part = std::ranges::find(part_keys(), name, &PartKeys::name);
    if (key == part->main && shown(value) == part->off) continue;
    parts[name] += key + '=' + shown(value) + '\n';
    if (shown(value) == "plugin") decides.insert(name);
  }
  for (const std::string_view name : decides) parts[name] += plugin;
  return parts;
}

const PolicyCells* base_of(const RateRow& row) {
  if (const PolicyCells* only = row.named("fcfs")) return only;
  for (const PolicyCells& each : row.policies)
    if (unchanged_variant(each) == "fcfs" && parts_of(cell_of(each)).empty()) return &each;
  return nullptr;
}

Parts parts_beside(const ConfiguredCell& cell, const ConfiguredCell& base) {
  Parts parts = parts_of(cell);
  for (const auto& [name, said] : parts_of(base)) {
    const auto own = parts.find(name);
    if (own == parts.end() || own->second != said) return {};
    parts.erase(own);
  }
  return parts;
}

std::string value_of(const ConfiguredCell& cell, std::string_view part) {
  const auto keys = std::ranges::find(part_keys(), part, &PartKeys::name);
  return shown(cell.value(std::string(keys->main)));
}

std::vector<std::string_view> part_names() {
  std::vector<std::string_view> names;
  for (const PartKeys& part : part_keys()) names.push_back(part.name);
  return names;
}

std::string policy_of_part(std::string_view part, std::string_view value) {
  const auto keys = std::ranges::find(part_keys(), part, &PartKeys::name);
  for (const auto& [known, policy] : keys->alone)
    if (known == value) return std::string(policy);
  return "";
}

}  // namespace analysis
