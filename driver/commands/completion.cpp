#include "driver/commands/keys.hpp"

#include <iostream>
#include <map>
#include <ranges>

#include "driver/command_line/command_table.hpp"
#include "driver/commands/commands.hpp"

namespace driver {

// Written by CMake from the files of these names.
extern const char *const kCompletionBash, *const kCompletionZsh;

namespace {

void replace(std::string& script, const std::string& mark, const std::string& text) {
  script.replace(script.find(mark), mark.size(), text);
}

/// "--output -o" of "output,o".
std::string dashed(const Option& option) {
  const std::string name = option.name;
  const std::size_t comma = name.find(',');
  const std::string dashes = "--" + name.substr(0, comma);
  return comma == std::string::npos ? dashes : dashes + " -" + name.substr(comma + 1);
}

std::string option_cases() {
  std::string lines;
  for (const Subcommand& command : commands()) {
    lines += "      " + command.name + ") options=\"" +
             sweep::joined(std::views::transform(command.options, dashed), " ") + "\";;\n";
  }
  return lines;
}

/// A line of `case` for each key that holds one of several words.
std::string value_cases(const worker::KeyTable& table) {
  std::map<std::string, std::string> words;
  for (const worker::Key& key : table.keys()) {
    if (const auto* choice = std::get_if<worker::OneOf>(&key.type))
      words[key.name] = sweep::joined(choice->words, " ");
    if (std::holds_alternative<worker::Flag>(key.type)) words[key.name] = "true false";
  }
  std::string lines;
  for (const auto& [key, values] : words)
    lines += "      " + key + ") values=\"" + values + "\";;\n";
  return lines;
}

}  // namespace

std::string completion_script(const std::string& shell, const worker::KeyTable& table) {
  if (shell != "bash" && shell != "zsh")
    throw UsageError("completion is for bash or zsh, found \"" + shell + '"');
  std::string script = shell == "bash" ? kCompletionBash : kCompletionZsh;
  replace(script, "@VALUES@", value_cases(table));
  replace(script, "@KEYS@", sweep::joined(table.names(), " "));
  replace(script, "@COMMANDS@",
          sweep::joined(std::views::transform(commands(), &Subcommand::name), " "));
  replace(script, "@OPTIONS@", option_cases());
  return script;
}

int completion(const Options& options) {
  std::cout << completion_script(options.arguments.front(), worker::sweep_keys());
  return kOk;
}

}  // namespace driver
