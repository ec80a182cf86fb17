#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/estimators/parameters.hpp"

namespace policies {

/// An entry of a policy axis: its name, its factory function, and what parameters it declares.
template <class Policy, class Config>
struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)(const Config&);
  std::vector<Parameter> (*parameters)() = nullptr;  // null: none
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

/// What the entries of the axis policy.`axis` declare, appended to `all`.
template <class Table>
void add_parameters(const Table& table, const std::string& axis,
                    std::vector<DeclaredParameter>& all) {
  for (const auto& entry : table)
    if (entry.parameters != nullptr)
      for (const Parameter& each : entry.parameters())
        all.push_back({each, "policy." + axis + " = " + entry.name});
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
