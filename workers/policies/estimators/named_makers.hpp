#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/estimators/parameters.hpp"

namespace policies {

/// An entry of a policy axis: its name, its factory function, and what it declares.
template <class Policy, class Config>
struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)(const Config&);
  Declared (*declares)() = nullptr;  // null: nothing
};

/// The entry "plugin": what the config's own function `given` makes.
template <class Policy, class Config>
constexpr Entry<Policy, Config> given_by_plugin() {
  return {"plugin", [](const Config& config) {
            if (!config.given) throw engine::InputError("\"plugin\" needs policy.plugin");
            return config.given();
          }};
}

template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

/// The parameters that the entries declare, appended to `all`. Where one counts is
/// where(names) of the entries that declare it.
template <class Table, class Where>
void add_parameters(const Table& table, const Where& where, std::vector<DeclaredParameter>& all) {
  std::vector<std::pair<Parameter, std::vector<KeyValue>>> found;  // and names of entries
  for (const auto& entry : table) {
    if (entry.declares == nullptr) continue;
    for (const Parameter& each : entry.declares().parameters) {
      auto same = std::ranges::find_if(
          found, [&](const auto& one) { return std::string_view(one.first.name) == each.name; });
      if (same == found.end()) same = found.insert(same, {each, {}});
      same->second.emplace_back(entry.name);
    }
  }
  for (const auto& [parameter, names] : found) all.push_back({parameter, where(names)});
}

/// Adds the parameters of every entry, which count where policy.`axis` names it.
template <class Table>
void add_parameters(const Table& table, const char* axis, std::vector<DeclaredParameter>& all) {
  add_parameters(
      table, [axis](const auto& names) { return is(axis, names); }, all);
}

/// The reasons that the entries declare, appended to `all`, each once.
template <class Table>
void add_reasons(const Table& table, std::vector<std::string>& all) {
  for (const auto& entry : table)
    if (entry.declares != nullptr)
      for (const char* reason : entry.declares().reasons)
        if (std::ranges::find(all, reason) == all.end()) all.emplace_back(reason);
}

[[noreturn]] inline void reject_name(const std::string& axis, const std::string& name,
                                     const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "\"" : ", \"") + each + '"';
  throw engine::InputError("policy." + axis + " must be one of " + list + ", found \"" + name +
                           '"');
}

/// Throws engine::InputError listing the known names when no entry has that name.
template <class Table, class Config>
auto make_named(const Table& table, const std::string& axis, const std::string& name,
                const Config& config) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry.make(config);
  }
  reject_name(axis, name, names_in(table));
}

}  // namespace policies
