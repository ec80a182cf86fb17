#include <deque>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/upkeep/upkeep.hpp"

namespace driver {
namespace {

/// Joins pairs, then pairs of those, so that a cell of n archives is copied log2(n) times.
void merge_all(std::vector<std::string> archives, const std::string& target) {
  std::deque<sweep::TemporaryFile> parts;
  while (archives.size() > 2) {
    std::vector<std::string> joined;
    for (std::size_t i = 0; i + 1 < archives.size(); i += 2) {
      joined.push_back(parts.emplace_back(target).path);
      sweep::merge_archives(archives[i], archives[i + 1], joined.back());
    }
    if (archives.size() % 2 != 0) joined.push_back(archives.back());
    archives = std::move(joined);
  }
  sweep::merge_archives(archives.front(), archives.back(), target);
}

}  // namespace

int merge(const Options& options) {
  if (!options.output) throw UsageError("merge needs -o C.h5, the archive to write");
  const std::string target = options.output->string();
  if (std::filesystem::exists(std::filesystem::symlink_status(*options.output)))
    throw UsageError(target + " exists already; merge writes a new archive");
  using_files([&] { merge_all(options.arguments, target); });
  std::cout << analysis::terminal_text(target) << ": " << results_text(open_archive(target))
            << '\n';
  return kOk;
}

}  // namespace driver
