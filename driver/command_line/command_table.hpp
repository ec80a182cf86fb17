#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "driver/command_line/options.hpp"

namespace driver {

/// The field that has an option's value.
using OptionField =
    std::variant<bool Options::*, int Options::*, double Options::*, std::string Options::*,
                 std::filesystem::path Options::*, std::optional<int> Options::*,
                 std::optional<double> Options::*, std::optional<std::string> Options::*,
                 std::optional<std::filesystem::path> Options::*,
                 std::optional<sweep::RecordLevel> Options::*, std::vector<std::string> Options::*>;

struct Option {
  const char* name;  // "output,o": also -o
  OptionField field;
  const char* value;  // its name in the help text
  const char* help;

  /// The name behind "--".
  std::string long_name() const { return std::string(name).substr(0, std::string(name).find(',')); }
};

struct Subcommand {
  /// `own`: the options that no other command has in this meaning.
  Subcommand(int (*run)(const Options& options), const char* usage, const char* purpose,
             std::size_t min_arguments, std::size_t max_arguments, std::vector<Option> shared,
             std::vector<Option> own = {});
  bool takes(std::string_view option) const;

  int (*run)(const Options& options);  // returns the exit code
  const char* usage;
  const char* purpose;
  std::size_t min_arguments, max_arguments;
  std::string name;  // the first word of `usage`
  std::vector<Option> options;
};

}  // namespace driver
