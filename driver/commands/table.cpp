#include <algorithm>
#include <iostream>

#include "analysis/compare.hpp"
#include "analysis/policy_table.hpp"
#include "driver/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"

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

}  // namespace

int table(const Options& options) {
  const analysis::GridFormat format = grid_format(options);
  const sweep::ArchiveReader archive = open_archive(options.arguments.front());
  const auto cells = selected_cells(archive.cells(), options);
  const auto published = published_in(options.profiles / "published");
  try {
    const std::string metric = analysis::known_metric(cells, options.metric);
    print_policy_tables(analysis::policy_tables(cells, metric, published), format, std::cout);
  } catch (const analysis::CompareError& error) {
    throw UsageError(error.what());
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return kOk;
}

}  // namespace driver
