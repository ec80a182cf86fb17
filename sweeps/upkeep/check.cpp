#include "sweeps/upkeep/check.hpp"

#include <algorithm>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

namespace {

using Problems = std::vector<std::string>;

void check_shards(const std::string& archive, const std::vector<CellRecord>& cells,
                  Problems& problems) {
  const std::string path = resolved(archive);
  const std::vector<std::string> names = names_in(path + ".d");
  for (const CellRecord& cell : cells) {
    if (!std::binary_search(names.begin(), names.end(), cell.key + ".h5")) continue;
    try {
      static_cast<void>(open_shard(shard_path(path, cell.key)).load(cell.key));
    } catch (const ArchiveError& error) {
      problems.push_back(error.what());
    }
  }
}

}  // namespace

Problems check_archive(const std::string& path) {
  check_is_file(path);
  Problems problems;
  try {
    StoredCells archive = open_archive_file(path);
    problems = problems_of(archive);
    check_shards(path, archive.index.cells, problems);
  } catch (const ArchiveError& error) {
    problems.push_back(error.what());
  }
  return problems;
}

}  // namespace sweep
