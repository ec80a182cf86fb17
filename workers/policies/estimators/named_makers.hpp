#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workers/engine/base/errors.hpp"

namespace policies {

/// An entry of a policy axis: its name and its factory function.
template <class Policy, class Config>
struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)(const Config&);
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

/// Throws engine::InputError listing the known names when no entry has that name.
template <class Table, class Config>
auto make_named(const Table& table, const std::string& axis, const std::string& name,
                const Config& config) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry.make(config);
  }
  std::string known;
  for (const auto& entry : table)
    known += std::string(known.empty() ? "" : ", ") + '"' + entry.name + '"';
  throw engine::InputError("policy." + axis + " must be one of " + known + ", found \"" + name +
                           '"');
}

}  // namespace policies
