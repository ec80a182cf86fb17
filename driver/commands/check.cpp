#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "sweeps/upkeep/upkeep.hpp"

namespace driver {
namespace {

constexpr int kDifferent = kSomeCellsFailed;

void print(const std::vector<std::string>& sentences) {
  for (const std::string& each : sentences) std::cout << analysis::terminal_text(each) << '\n';
}

int check_equal(const Options& options) {
  const std::string &a = options.arguments[0], &b = options.arguments[1];
  const bool but_times = options.ignore_times;
  sweep::ArchiveComparison compared;
  using_files([&] {
    compared = sweep::compare_archives(
        a, b, but_times ? sweep::Compared::but_times : sweep::Compared::results);
  });
  if (compared.differences.empty())
    std::cout << (but_times ? "equal, times and what depends on them aside\n" : "equal\n");
  print(compared.differences);
  if (compared.in_one > 0)
    std::cout << "cells that both have: " << compared.in_both
              << "; only one archive has a result of " << compared.in_one << " more\n";
  if (compared.at_two_levels > 0)
    std::cout << compared.at_two_levels << (compared.at_two_levels == 1 ? " cell is" : " cells are")
              << " stored at different levels: only tables that both archives have of a cell were "
                 "compared\n";
  return compared.differences.empty() ? kOk : kDifferent;
}

int check_one(const std::string& path) {
  std::vector<std::string> problems;
  using_files([&] { problems = sweep::check_archive(path); });
  print(problems);
  if (!problems.empty()) return kBadArchive;
  const sweep::ArchiveReader reader = open_archive(path);
  std::cout << "ok: " << results_text(reader);
  if (reader.shards() > 0) std::cout << ", " << reader.shards() << " not merged yet";
  std::cout << '\n';
  return kOk;
}

}  // namespace

int check(const Options& options) {
  const std::size_t wanted = options.equal ? 2 : 1;
  if (options.arguments.size() != wanted)
    throw UsageError("usage: kvsweep check A.h5 | check --equal [--ignore-times] A.h5 B.h5");
  if (options.ignore_times && !options.equal) throw UsageError("--ignore-times needs --equal");
  if (options.equal) return check_equal(options);
  return check_one(options.arguments[0]);
}

}  // namespace driver
