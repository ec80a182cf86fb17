#include "workers/policies/exported/settings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <sstream>

#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/policies/names.hpp"

namespace policies {
namespace {

using engine::InputError;

double number(const std::string& key, const std::string& text, double least, double most,
              bool whole = false) {
  const auto value = sweep::number_from(text);
  if (!value || *value < least || *value > most || (whole && *value != static_cast<int>(*value))) {
    throw InputError(key + " = " + text + "; allowed: " + (whole ? "whole " : "") +
                     sweep::formatted("numbers from %g to %g", least, most));
  }
  return *value;
}

bool flag(const std::string& key, const std::string& text) {
  if (text != "true" && text != "false")
    throw InputError(key + " = " + text + "; allowed: true, false");
  return text == "true";
}

template <class Words>
std::string choice(const std::string& key, const std::string& text, const Words& words) {
  if (std::ranges::find(words, text) != std::end(words)) return text;
  throw InputError(key + " = " + text + "; allowed: " + sweep::joined(words));
}

using Setter = std::function<void(const std::string& key, const std::string& text)>;

/// The settings that a foreign scheduler can obey, beside the parameters that rules declare.
std::map<std::string, Setter> setters_of(PolicyConfig& policy) {
  std::map<std::string, Setter> setters{
      {"order", [&](auto&, auto& text) { policy.order = text; }},
      {"admission", [&](auto&, auto& text) { policy.admission.rule = text; }},
      {"retention", [&](auto&, auto& text) { policy.retention = text; }},
      {"ttl_rule", [&](auto&, auto& text) { policy.ttl_rule = text; }},
      {"estimator", [&](auto&, auto& text) { policy.estimator.name = text; }},
      {"plugin", [&](auto&, auto& text) { policy.plugin.path = text; }},
      {"max_active_programs",
       [&](auto& key, auto& text) {
         policy.admission.max_programs = static_cast<int>(number(key, text, 0, 1 << 30, true));
       }},
      {"protect_waiting",
       [&](auto& key, auto& text) { policy.pins.protect_waiting = flag(key, text); }},
      {"release_on_handoff",
       [&](auto& key, auto& text) { policy.pins.release_on_handoff = flag(key, text); }},
      {"pin_share",
       [&](auto& key, auto& text) { policy.pins.most_of_pool = number(key, text, 0, 1); }},
      {"pressure_victim", [&](auto& key, auto& text) {
         constexpr const char* kWords[] = {"latest_job", "latest_deadline"};
         policy.pins.pressure_victim = choice(key, text, kWords) == kWords[0]
                                           ? engine::PressureVictim::latest_job
                                           : engine::PressureVictim::latest_deadline;
       }}};
  for (std::size_t i = 0; i < policy.plugin.values.size(); ++i)
    setters["plugin_value_" + std::to_string(i + 1)] = [&policy, i](auto& key, auto& text) {
      policy.plugin.values[i] = number(key, text, -1e300, 1e300);
    };
  return setters;
}

void set_declared(const Parameter& parameter, const std::string& text, Parameters& values) {
  if (parameter.check_text != nullptr) {
    parameter.check_text(text);
    values[parameter.name] = text;
  } else if (!parameter.words.empty()) {
    values[parameter.name] = choice(parameter.name, text, parameter.words);
  } else {
    values[parameter.name] =
        number(parameter.name, text, parameter.least, parameter.most, parameter.is_whole);
  }
}

void set(const std::string& key, const std::string& text, PolicyConfig& policy,
         const std::map<std::string, Setter>& setters) {
  if (const auto found = setters.find(key); found != setters.end()) return found->second(key, text);
  const auto& declared = declared_parameters();
  const auto named = [&](const DeclaredParameter& one) { return key == one.parameter.name; };
  const auto found = std::ranges::find_if(declared, named);
  if (found != declared.end()) return set_declared(found->parameter, text, policy.parameters);
  throw InputError("the scheduler cannot obey policy." + key + "; allowed: " +
                   sweep::joined(std::views::keys(setters)) + ", and parameters of rules");
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

PolicyConfig read_settings(const std::string& text, const kvsweep_setup& pool) {
  PolicyConfig policy;
  const auto setters = setters_of(policy);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (trimmed(line).empty()) continue;
    if (equals == std::string::npos) throw InputError("\"" + line + "\" is not KEY = VALUE");
    set(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)), policy, setters);
  }
  policy.block_size = policy.plugin.block_size = pool.block_size;
  policy.plugin.num_blocks = pool.num_blocks;
  policy.admission.pool_tokens = pool.num_blocks * pool.block_size;
  policy.admission.parameters = policy.estimator.parameters = policy.parameters;
  return policy;
}

}  // namespace policies
