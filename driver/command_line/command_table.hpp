#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace driver {

struct Command {
  std::string_view name;
  const char* usage;
  const char* purpose;
  std::size_t min_arguments, max_arguments;
  std::string_view options;  // names of options(), a blank between
  bool reads_archives = false;
};

/// Whether a command takes an option, named as options() names it.
bool takes(const Command& command, std::string_view option);

enum class OptionKind { flag, text, list, number, integer };

struct Option {
  const char* name;
  OptionKind kind;
  const char* value;  // its name in the help text
  const char* help;
};

/// All commands, in the order of the help text.
std::span<const Command> commands();

/// All options; a command takes those that it names.
std::span<const Option> options();

}  // namespace driver
