#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>

#include "driver/command_line/options.hpp"

namespace driver {

struct Subcommand {
  std::string_view name;
  int (*run)(const Options& options);  // returns the exit code
  const char* usage;
  const char* purpose;
  std::size_t min_arguments, max_arguments;
  std::string_view options;  // names of options(), a blank between
};

/// Whether a command takes an option, named as options() names it.
bool takes(const Subcommand& command, std::string_view option);

/// The field that has an option's value. None: the value is a text, which is taken apart.
using OptionField =
    std::variant<std::monostate, bool Options::*, int Options::*, double Options::*,
                 std::string Options::*, std::optional<int> Options::*,
                 std::optional<double> Options::*, std::optional<std::string> Options::*,
                 std::optional<std::filesystem::path> Options::*,
                 std::optional<sweep::RecordLevel> Options::*, std::vector<std::string> Options::*>;

struct Option {
  const char* name;
  OptionField field;
  const char* value;  // its name in the help text
  const char* help;
};

/// All options; a command takes those that it names.
std::span<const Option> options();

}  // namespace driver
