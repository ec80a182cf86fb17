#include <algorithm>
#include <iostream>

#include "analysis/compare/compare.hpp"
#include "analysis/compare/policy_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

std::vector<analysis::Published> published_in(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".toml") paths.push_back(entry.path().string());
    }
  }
  std::ranges::sort(paths);
  std::vector<analysis::Published> published;
  for (const std::string& path : paths) published.push_back(analysis::load_published(path));
  return published;
}

bool lacks_repeats(const std::vector<analysis::PolicyTable>& tables) {
  for (const analysis::PolicyTable& table : tables)
    for (const analysis::PolicyRow& row : table.rows)
      for (const analysis::PolicyEntry& entry : row.entries)
        if (entry.repeats == 1) return true;
  return false;
}

}  // namespace

int table(const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  const sweep::ArchiveReader archive = open_archive(options.arguments.front());
  const auto cells = selected_cells(archive.cells(), options);
  const auto published = published_in(options.profiles / "published");
  try {
    const std::string metric = analysis::known_metric(cells, options.metric);
    const auto tables = analysis::policy_tables(cells, metric, published);
    print_policy_tables(tables, format, std::cout);
    if (format != analysis::GridFormat::csv && lacks_repeats(tables))
      std::cout << "\nno interval (+-) for one repeat: set n = 2 or more in [repeat]\n";
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
