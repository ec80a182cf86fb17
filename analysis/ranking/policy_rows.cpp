#include "analysis/ranking/policy_rows.hpp"

#include "analysis/compare/compare.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/ranking/sentences.hpp"

namespace analysis {
namespace {

using Cells = std::vector<const ConfiguredCell*>;
using Names = std::vector<std::string>;

/// A server's profile takes the place of a policy, also where `sim` stands for the server.
bool is_of_policy(const std::string& key) {
  return key.starts_with("policy.") || key == "server.profile";
}

/// The keys in which cells of one GPU, policy and rate differ. Those of the policy tell variants
/// apart, the others places.
struct Keys {
  Names place, variant;
  Names telling;  // so many of `place` that all places differ

  bool add(const std::string& key) {
    Names& keys = is_of_policy(key) ? variant : place;
    if (std::ranges::find(keys, key) != keys.end()) return false;
    keys.push_back(key);
    return true;
  }
};

/// `bare`: without the room of each key, "ttl_s=5" of policy.ttl_s.
std::string settings_text(const ConfiguredCell& cell, const Names& keys, bool bare = false) {
  std::string text;
  for (const std::string& key : keys) {
    const auto value = cell.value(key);
    if (!value) continue;
    text += (text.empty() ? "" : ", ") + (bare ? key.substr(key.find('.') + 1) : key) + '=' +
            shown(value);
  }
  return text;
}

Place place_of(const ConfiguredCell& cell, const Keys& keys) {
  return {figures_kind(cell), shown(cell.value("gpu")), settings_text(cell, keys.place),
          settings_text(cell, keys.telling)};
}

std::string variant_text(const ConfiguredCell& cell, const Keys& keys) {
  const std::string more = settings_text(cell, keys.variant, true);
  return variant_of(cell) + (more.empty() ? "" : " (" + more + ')');
}

std::string row_key(const Place& place, const std::string& jps) {
  return place.kind + '\n' + place.gpu + '\n' + place.settings + '\n' + jps;
}

/// The common part of the repeats of a variant, as a text.
std::string group_key(const ConfiguredCell& cell, const Keys& keys) {
  return row_key(place_of(cell, keys), key_text(cell.value("jps"))) + '\n' +
         variant_text(cell, keys);
}

/// Drops keys, the last first, as long as the same places differ.
Names telling_of(const Cells& cells, const Keys& keys) {
  const auto text_of = [](const ConfiguredCell& cell, const Names& names) {
    return figures_kind(cell) + '\n' + shown(cell.value("gpu")) + '\n' + settings_text(cell, names);
  };
  std::map<std::string, const ConfiguredCell*> places;
  for (const ConfiguredCell* cell : cells) places.emplace(text_of(*cell, keys.place), cell);
  Names telling = keys.place;
  for (std::size_t at = telling.size(); at-- > 0;) {
    Names fewer = telling;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
    std::set<std::string> texts;
    for (const auto& [text, cell] : places) texts.insert(text_of(*cell, fewer));
    if (texts.size() == places.size()) telling = std::move(fewer);
  }
  return telling;
}

/// Adds keys until the cells of every group differ only in their seed.
Keys telling_apart(const Cells& cells) {
  Keys keys;
  for (const ConfiguredCell* cell : cells)
    for (const auto& [axis, value] : cell->record->axes)
      if (axis != "gpu" && axis != "policy" && axis != "jps" && axis != "dram_gib") keys.add(axis);
  // Workload keys that differ do not follow from a GPU or policy.
  for (const ConfiguredCell* cell : cells)
    for (const auto& [key, a, b] : config_differences(cells.front()->config, cell->config))
      if (key == "model" || key.starts_with("workload.")) keys.add(key);
  for (bool grown = true; grown;) {
    grown = false;
    std::map<std::string, const ConfiguredCell*> first;
    for (const ConfiguredCell* cell : cells) {
      const auto [place, is_new] = first.emplace(group_key(*cell, keys), cell);
      if (is_new) continue;
      for (const auto& difference : config_differences(place->second->config, cell->config))
        if (difference.key != "repeat.seed") grown = keys.add(difference.key) || grown;
    }
  }
  keys.telling = telling_of(cells, keys);
  return keys;
}

/// Orders texts by the numbers in them: "live=4" before "live=16".
bool is_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      double one = 0, other = 0;
      a.remove_prefix(std::from_chars(a.data(), a.data() + a.size(), one).ptr - a.data());
      b.remove_prefix(std::from_chars(b.data(), b.data() + b.size(), other).ptr - b.data());
      if (one != other) return one < other;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

/// Sorts settings, rates and host memory by their numbers; cards and policies keep their order.
void sort_axes(std::vector<RateRow>& rows) {
  Names cards;
  const auto card = [](const RateRow& row) { return row.place.kind + '\n' + row.place.gpu; };
  const auto rank = [](const Names& names, const std::string& name) {
    return std::ranges::find(names, name) - names.begin();
  };
  for (const RateRow& row : rows) add_once(cards, card(row));
  std::ranges::stable_sort(rows, [&](const RateRow& a, const RateRow& b) {
    const auto one = rank(cards, card(a)), other = rank(cards, card(b));
    if (one != other) return one < other;
    if (a.place.settings != b.place.settings) return is_before(a.place.settings, b.place.settings);
    return is_before(a.jps, b.jps);
  });
  for (RateRow& row : rows) {
    Names names;
    const auto name = [](const PolicyCells& policy) {
      return policy.variant.substr(0, policy.variant.rfind('-' + policy.dram + 'G'));
    };
    for (const PolicyCells& each : row.policies) add_once(names, name(each));
    std::ranges::stable_sort(row.policies, [&](const PolicyCells& a, const PolicyCells& b) {
      const auto one = rank(names, name(a)), other = rank(names, name(b));
      return one != other ? one < other : is_before(a.dram, b.dram);
    });
  }
}

}  // namespace

const PolicyCells* RateRow::find(std::string_view variant) const {
  const auto found = std::ranges::find(policies, variant, &PolicyCells::variant);
  return found == policies.end() ? nullptr : &*found;
}

const PolicyCells* RateRow::fcfs() const {
  if (const PolicyCells* exact = find("fcfs")) return exact;
  const auto is_meant = [](const PolicyCells& each) { return unchanged_variant(each) == "fcfs"; };
  const auto first = std::ranges::find_if(policies, is_meant);
  if (first == policies.end() ||
      std::find_if(first + 1, policies.end(), is_meant) != policies.end())
    return nullptr;
  return &*first;
}

std::string unchanged_variant(const PolicyCells& policy) {
  const ConfiguredCell& cell = *policy.repeats.front();
  const std::string name = shown(cell.value("policy"));
  return name.substr(0, name.find('+')) + (policy.dram == "-" ? "" : '-' + policy.dram + 'G');
}

std::vector<RateRow> arrange(const Cells& cells) {
  const Keys keys = telling_apart(cells);
  std::vector<RateRow> rows;
  std::map<std::string, std::size_t> row_at, policy_at;
  for (const ConfiguredCell* cell : cells) {
    const Place place = place_of(*cell, keys);
    const std::string jps = shown(cell->value("jps"));
    const auto [row_place, is_new_row] = row_at.emplace(row_key(place, jps), rows.size());
    if (is_new_row) rows.push_back({place, jps, {}});
    RateRow& row = rows[row_place->second];
    const auto [policy_place, is_new] =
        policy_at.emplace(group_key(*cell, keys), row.policies.size());
    if (is_new)
      row.policies.push_back({variant_text(*cell, keys), shown(cell->value("dram_gib")), {}});
    row.policies[policy_place->second].repeats.push_back(cell);
  }
  sort_axes(rows);
  return rows;
}

std::vector<std::string> remarks_on(const RateRow& row) {
  Names remarks;
  const PolicyCells& first = row.policies.front();
  for (const PolicyCells& other : row.policies) {
    const auto found =
        first_incomparable(*first.repeats.front(), *other.repeats.front(), {"policy", "dram_gib"});
    if (!found) continue;
    remarks.push_back("Columns differ in more than the policy: " + found->key + " is " +
                      shown(found->a) + " for " + first.variant + " and " + shown(found->b) +
                      " for " + other.variant + '.');
  }
  return remarks;
}

}  // namespace analysis
