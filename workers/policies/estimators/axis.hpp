#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "workers/engine/base/errors.hpp"
#include "workers/policies/estimators/parameters.hpp"

namespace policies {

/// A policy of an axis: its name, what makes it, the parameters that its file declares, and names
/// of reasons for its decisions beyond those of engine::KvReason (own_reason).
template <class Policy, class Config>
struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)(const Config&);
  std::vector<Parameter> parameters = {};
  std::vector<const char*> reasons = {};

  /// Makes a policy of this class, whose constructor takes the settings or nothing.
  template <class Kind>
  static std::unique_ptr<Policy> makes(const Config& config) {
    if constexpr (std::is_constructible_v<Kind, const Config&>)
      return std::make_unique<Kind>(config);
    else
      return std::make_unique<Kind>();
  }
  /// The entry "plugin": what the settings' own function `given` makes.
  static Entry of_plugin() {
    return {"plugin", [](const Config& config) {
              if (!config.given) throw engine::InputError("\"plugin\" needs policy.plugin");
              return config.given();
            }};
  }
};

[[noreturn]] inline void reject_name(const std::string& axis, const std::string& name,
                                     const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "\"" : ", \"") + each + '"';
  throw engine::InputError("policy." + axis + " must be one of " + list + ", found \"" + name +
                           '"');
}

/// The policies of this build that the key policy.`name` chooses from.
template <class Policy, class Config>
class Axis {
 public:
  Axis(std::string name, std::vector<Entry<Policy, Config>> entries)
      : name_(std::move(name)), entries_(std::move(entries)) {}

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : entries_) names.emplace_back(entry.name);
    return names;
  }

  /// Throws engine::InputError, which lists the names, when there is no such policy, or when it
  /// lacks something that it needs.
  std::unique_ptr<Policy> make(const std::string& name, const Config& config) const {
    for (const auto& entry : entries_)
      if (entry.name == name) return entry.make(config);
    reject_name(name_, name, names());
  }

  /// Appends the declared parameters. One counts where(names of the policies that declare it).
  template <class Where>
  void add_parameters(const Where& where, std::vector<DeclaredParameter>& all) const {
    std::vector<std::pair<Parameter, std::vector<KeyValue>>> found;  // and names of policies
    for (const auto& entry : entries_) {
      for (const Parameter& each : entry.parameters) {
        auto same = std::ranges::find_if(
            found, [&](const auto& one) { return std::string_view(one.first.name) == each.name; });
        if (same == found.end()) same = found.insert(same, {each, {}});
        same->second.emplace_back(entry.name);
      }
    }
    for (const auto& [parameter, names] : found) all.push_back({parameter, where(names)});
  }
  /// One counts where the key names such a policy.
  void add_parameters(std::vector<DeclaredParameter>& all) const {
    add_parameters([this](const auto& names) { return is("policy." + name_, names); }, all);
  }

  /// Appends the declared reasons, each once.
  void add_reasons(std::vector<std::string>& all) const {
    for (const auto& entry : entries_)
      for (const char* reason : entry.reasons)
        if (std::ranges::find(all, reason) == all.end()) all.emplace_back(reason);
  }

 private:
  std::string name_;
  std::vector<Entry<Policy, Config>> entries_;
};

}  // namespace policies
