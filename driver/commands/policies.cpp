#include <fstream>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/commands/commands.hpp"
#include "workers/binding/binding.hpp"
#include "workers/binding/keys.hpp"

namespace driver {
namespace {

/// What is known of a named policy.
struct NamedPolicy {
  std::string name;
  std::string sentence;      // the first of the file's opening comment
  sweep::ParamMap settings;  // of the file
};

/// A parameter that the policy uses.
struct Parameter {
  const worker::Key* key;
  std::string value;
  bool from_file;
};

std::string opening_sentence(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string comment;
  for (std::string line; std::getline(in, line) && line.starts_with("# ");)
    comment += (comment.empty() ? "" : " ") + line.substr(2);
  return comment.substr(0, comment.find(". ")) + (comment.find(". ") < comment.size() ? "." : "");
}

NamedPolicy policy_named(const std::string& name, worker::Profiles& profiles) {
  const sweep::ParamMap& settings = profiles.policy(name);
  return {name, opening_sentence(profiles.dir() / "policies" / (name + ".toml")), settings};
}

/// In the order of the key table.
std::vector<Parameter> parameters_of(const NamedPolicy& policy, worker::Profiles& profiles) {
  const sweep::ParamMap cell = {{"policy", {policy.name, {}}}};
  const sweep::KeyRules rules = worker::key_rules(profiles);
  std::vector<Parameter> parameters;
  for (const worker::Key& key : worker::sweep_keys().keys()) {
    const std::string& name = key.name;
    if (!name.starts_with("policy.") || !rules.counts(cell, name)) continue;
    const auto set = policy.settings.find(name.substr(std::string("policy.").size()));
    const bool from_file = set != policy.settings.end();
    parameters.push_back(
        {&key, from_file ? sweep::bare_text(set->second.value) : key.fallback.text, from_file});
  }
  return parameters;
}

void print_list(const std::vector<NamedPolicy>& policies, std::ostream& out) {
  for (const NamedPolicy& policy : policies) {
    std::string settings;
    for (const auto& [key, param] : policy.settings)
      settings += (settings.empty() ? "" : ", ") + key + " = " + sweep::bare_text(param.value);
    out << policy.name << "\n    " << analysis::terminal_text(policy.sentence) << "\n    "
        << analysis::terminal_text(settings) << '\n';
  }
}

void print_one(const NamedPolicy& policy, worker::Profiles& profiles, std::ostream& out) {
  analysis::Grid grid;
  for (const char* column : {"key", "value", "set by", "what it is"})
    grid.columns.push_back({column, "", false});
  for (const Parameter& each : parameters_of(policy, profiles)) {
    const std::string unit = each.key->unit().empty() ? "" : " " + each.key->unit();
    grid.rows.push_back({each.key->name, each.value + unit, each.from_file ? "the file" : "default",
                         each.key->says});
  }
  out << policy.name << ": " << analysis::terminal_text(policy.sentence) << "\n\n";
  print_text(grid, out);
}

}  // namespace

int policies(const Options& options) {
  worker::Profiles profiles(options.profiles);
  std::vector<NamedPolicy> policies;
  const bool one = !options.arguments.empty();
  for (const std::string& name :
       one ? options.arguments : worker::profile_names(options.profiles / "policies"))
    policies.push_back(policy_named(name, profiles));
  one ? print_one(policies.front(), profiles, std::cout) : print_list(policies, std::cout);
  return kOk;
}

}  // namespace driver
