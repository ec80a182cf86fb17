#pragma once
#include <map>
#include <string>
#include <vector>

namespace policies {

/// A number that a rule takes from the sweep file as policy.NAME, declared in the rule's file. It
/// counts where the rule decides.
struct Parameter {
  const char* name;  // without "policy."
  double least, most, fallback;
  bool is_whole = false;
  const char* unit = "";
  const char* says;  // one sentence of documentation
};

/// Values by name. A parameter that is not there has its fallback.
using Parameters = std::map<std::string, double>;

inline double value_of(const Parameter& parameter, const Parameters& given) {
  const auto found = given.find(parameter.name);
  return found == given.end() ? parameter.fallback : found->second;
}

/// A parameter, and where it counts: "policy.order = longest_prefix".
struct DeclaredParameter {
  Parameter parameter;
  std::string where;
};

}  // namespace policies
