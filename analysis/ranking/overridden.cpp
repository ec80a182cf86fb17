#include "analysis/ranking/overridden.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/ranking/sentences.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

/// Which policies run with what, in the order in which it was first seen: the same change of
/// several presets is one line.
class Changes {
 public:
  void add(const std::string& name, const std::string& says, const std::string& remark) {
    const std::string change = says + " (" + remark + ')';
    auto known = std::ranges::find(all_, change, &std::pair<std::string, Texts>::first);
    if (known == all_.end()) known = all_.insert(known, {change, {}});
    add_once(known->second, name);
  }

  Texts lines() const {
    Texts lines;
    for (const auto& [change, names] : all_)
      lines.push_back(listed(names) + (names.size() > 1 ? " run with " : " runs with ") + change);
    return lines;
  }

 private:
  std::vector<std::pair<std::string, Texts>> all_;
};

/// "eviction=slru" and "ttl_s=5" of the policy "continuum+eviction=slru+ttl_s=5".
Texts changes_of(const std::string& policy) {
  Texts changes;
  for (std::size_t at = policy.find('+'); at != std::string::npos;) {
    const std::size_t end = policy.find('+', at + 1);
    const std::string change = policy.substr(at + 1, end - at - 1);
    // A value such as 1e+09 has the sign within.
    if (change.find('=') == std::string::npos && !changes.empty()) {
      changes.back() += '+' + change;
    } else {
      changes.push_back(change);
    }
    at = end;
  }
  return changes;
}

std::string note_of(const ConfiguredCell& cell, std::string_view name) {
  for (const sweep::Note& note : cell.record->notes)
    if (note.name == name) return note.text;
  return "";
}

/// The keys that scale a cost model or replace a part of it, and their values for "as it is".
void add_cost_model(Changes& changes, const ConfiguredCell& cell) {
  static const std::array<std::pair<const char*, sweep::Value>, 5> kAsItIs = {
      {{"sim.fixed_scale", 1.0},
       {"sim.token_scale", 1.0},
       {"sim.tier_scale", 1.0},
       {"sim.block_copy_us", 0.0},
       {"sim.link", std::string("card")}}};
  const std::string model = note_of(cell, "cost_model");
  for (const auto& [key, usual] : kAsItIs) {
    const auto value = cell.value(key);
    const bool is_axis = sweep::value_on(cell.record->axes, key) != nullptr;
    if (!value || is_axis || sweep::same_value(*value, usual) ||
        number_of(value) == number_of(usual))
      continue;
    changes.add(model.empty() ? "sim" : "the cost model " + model,
                std::string(key) + '=' + shown(value), "scaled or replaced by the sweep");
  }
}

}  // namespace

Texts overridden_presets(std::span<const RateRow> rows) {
  Changes changes;
  for (const RateRow& row : rows) {
    for (const PolicyCells& policy : row.policies) {
      const ConfiguredCell& cell = *policy.repeats.front();
      const std::string name = shown(cell.value("policy"));
      for (const std::string& change : changes_of(name))
        changes.add(name.substr(0, name.find('+')), "policy." + change,
                    "kvsweep policies shows its own value");
      const std::string pool = note_of(cell, "pool");
      if (!pool.empty() && sweep::value_on(cell.record->axes, "engine.kv_tokens") == nullptr)
        changes.add(row.place.gpu, pool, "the pool of the card is another");
      if (note_of(cell, "cost_model").ends_with("(estimated)"))
        changes.add(row.place.gpu, "estimated kernels",
                    "scaled from another card or model, nothing was measured on this one");
      if (!note_of(cell, "cost_model_fit").empty())
        changes.add(row.place.gpu, "cost-model constants of older kernels",
                    "fitted to other kernels than this program's");
      add_cost_model(changes, cell);
    }
  }
  return changes.lines();
}

}  // namespace analysis
