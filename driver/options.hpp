#pragma once
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace driver {

/// The command line is wrong. what() says how.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command line of every subcommand, checked. Fields that a subcommand does not take keep their
/// defaults.
struct Options {
  std::string command;                 // empty: help or version was printed
  std::vector<std::string> arguments;  // positional, without the command
  std::filesystem::path profiles;      // folder with gpus/, models/, policies/ and experiments/
  std::optional<std::string> backend;
  std::vector<std::string> set, only, skip;
  std::optional<std::filesystem::path> jsonl;
  std::optional<std::string> job;
  int turn = 0;
  int repeats = 3;
  bool json = false;
};

/// Reads the command line; prints help or version when asked to. Throws UsageError.
Options parse_options(int argc, char** argv);

}  // namespace driver
