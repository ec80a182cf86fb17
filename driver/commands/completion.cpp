#include "driver/commands/keys.hpp"

#include <iostream>
#include <map>
#include <ranges>

#include "driver/command_line/command_table.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

/// bash takes '=' for the end of a word, so that a value is a word of its own.
constexpr const char* kBash =
    R"sh(# Completion of kvsweep for bash: eval "$(kvsweep completion bash)"
_kvsweep() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= values=
  COMPREPLY=()
  if [[ $before == "=" || $word == "=" ]]; then
    local key=${COMP_WORDS[COMP_CWORD-2]}
    [[ $word == "=" ]] && key=$before && word=
    case $key in
@VALUES@    esac
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $before == --set ]]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -S = -W "@KEYS@" -- "$word"))
  elif (( COMP_CWORD == 1 )) || [[ $before == help ]]; then
    COMPREPLY=($(compgen -W "@COMMANDS@ help" -- "$word"))
  elif [[ $word == -* ]]; then
    case ${COMP_WORDS[1]} in
@OPTIONS@    esac
    COMPREPLY=($(compgen -W "$options --help" -- "$word"))
  else
    compopt -o default 2>/dev/null
  fi
}
complete -F _kvsweep kvsweep
)sh";

constexpr const char* kZsh =
    R"sh(#compdef kvsweep
# Completion of kvsweep for zsh: eval "$(kvsweep completion zsh)"
_kvsweep() {
  local options= values=
  if [[ ${words[CURRENT-1]} == --set ]]; then
    if compset -P '*='; then
      case ${IPREFIX%=} in
@VALUES@      esac
      compadd -- ${=values}
    else
      compadd -S = -- @KEYS@
    fi
  elif (( CURRENT == 2 )) || [[ ${words[CURRENT-1]} == help ]]; then
    compadd -- @COMMANDS@ help
  elif [[ ${words[CURRENT]} == -* ]]; then
    case ${words[2]} in
@OPTIONS@    esac
    compadd -- ${=options} --help
  else
    _files
  fi
}
compdef _kvsweep kvsweep
)sh";

void replace(std::string& script, const std::string& mark, const std::string& text) {
  script.replace(script.find(mark), mark.size(), text);
}

/// "--output -o" of "output,o".
std::string dashed(const std::string& name) {
  const std::size_t comma = name.find(',');
  const std::string dashes = "--" + name.substr(0, comma);
  return comma == std::string::npos ? dashes : dashes + " -" + name.substr(comma + 1);
}

/// A line of `case` for each command.
std::string option_cases() {
  std::string lines;
  for (const Subcommand& command : commands()) {
    std::vector<std::string> names;
    for (const Option& option : options())
      if (takes(command, option.name)) names.push_back(dashed(option.name));
    lines += "      " + std::string(command.name) + ") options=\"" + sweep::joined(names, " ") +
             "\";;\n";
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
  std::string script = shell == "bash" ? kBash : kZsh;
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
