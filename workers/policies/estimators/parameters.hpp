#pragma once
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "workers/policies/estimators/condition.hpp"

namespace policies {

/// A number, one of some words, or a text that a rule takes from the sweep file as policy.NAME,
/// declared in the rule's file. It counts where the rule decides.
struct Parameter {
  const char* name;  // without "policy."
  double least = 0, most = 0, fallback = 0;
  bool is_whole = false;
  std::span<const char* const> words = {};  // the choices, of which the first is the fallback;
                                            // none: a number
  void (*check_text)(const std::string&) = nullptr;  // not null: a text, by default empty, of which
                                                     // this throws engine::InputError
  bool is_neutral = false;  // cells that have the fallback are those from before there was the
                            // parameter
  const char* unit = "";
  const char* says;  // one sentence of documentation
};

/// Values by name. A parameter that is not there has its fallback.
using Parameters = std::map<std::string, std::variant<double, std::string>>;

/// A key's value as a parameter's.
inline Parameters::mapped_type parameter_of(const KeyValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

inline double value_of(const Parameter& parameter, const Parameters& given) {
  const auto found = given.find(parameter.name);
  return found == given.end() ? parameter.fallback : std::get<double>(found->second);
}
inline std::string word_of(const Parameter& parameter, const Parameters& given) {
  const auto found = given.find(parameter.name);
  return found == given.end() ? parameter.words.front() : std::get<std::string>(found->second);
}
inline std::string text_of(const Parameter& parameter, const Parameters& given) {
  const auto found = given.find(parameter.name);
  return found == given.end() ? std::string() : std::get<std::string>(found->second);
}

/// A parameter, and where it counts.
struct DeclaredParameter {
  Parameter parameter;
  Condition where;
};

}  // namespace policies
