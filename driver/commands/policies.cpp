#include <fstream>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/list.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/commands/commands.hpp"
#include "workers/binding/binding.hpp"
#include "workers/binding/keys.hpp"

namespace driver {
namespace {

/// The first sentence of the opening comment of the policy's file.
std::string sentence_of(const std::string& policy, const worker::Profiles& profiles) {
  std::ifstream in(profiles.dir() / "policies" / (policy + ".toml"));
  std::string comment;
  for (std::string line; std::getline(in, line) && line.starts_with("# ");)
    comment += (comment.empty() ? "" : " ") + line.substr(2);
  const std::size_t end = comment.find(". ");
  return analysis::terminal_text(comment.substr(0, end) + (end < comment.size() ? "." : ""));
}

void print_line(const std::string& policy, worker::Profiles& profiles, std::ostream& out) {
  const auto settings = analysis::mapped(profiles.policy(policy), [](const auto& setting) {
    return setting.first + " = " + sweep::bare_text(setting.second.value);
  });
  out << policy << "\n    " << sentence_of(policy, profiles) << "\n    "
      << analysis::terminal_text(sweep::joined(settings)) << '\n';
}

/// The policy with the parameters that it uses, in the order of the key table.
void print_one(const std::string& policy, worker::Profiles& profiles, std::ostream& out) {
  const sweep::ParamMap& settings = profiles.policy(policy);
  const sweep::ParamMap cell = {{"policy", {policy, {}}}};
  const sweep::KeyRules rules = worker::key_rules(profiles);
  const std::string section = "policy.";
  analysis::Grid grid;
  for (const char* column : {"key", "value", "set by", "what it is"})
    grid.columns.push_back({column, "", false});
  for (const worker::Key& key : worker::sweep_keys().keys()) {
    if (!key.name.starts_with(section) || !rules.counts(cell, key.name)) continue;
    const auto set = settings.find(key.name.substr(section.size()));
    const bool from_file = set != settings.end();
    grid.rows.push_back({key.name,
                         (from_file ? sweep::bare_text(set->second.value) : key.fallback.text) +
                             (key.unit().empty() ? "" : " " + key.unit()),
                         from_file ? "the file" : "default", key.says});
  }
  out << policy << ": " << sentence_of(policy, profiles) << "\n\n";
  print_text(grid, out);
}

}  // namespace

int policies(const Options& options) {
  worker::Profiles profiles(options.profiles);
  if (!options.arguments.empty()) {
    print_one(options.arguments.front(), profiles, std::cout);
    return kOk;
  }
  const auto names = worker::profile_names(options.profiles / "policies");
  for (const std::string& name : names) profiles.policy(name);  // an error comes before the list
  for (const std::string& name : names) print_line(name, profiles, std::cout);
  return kOk;
}

}  // namespace driver
