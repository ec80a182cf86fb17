#include "sweeps/upkeep/upkeep.hpp"

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

namespace {

using Problems = std::vector<std::string>;

void check_shards(const std::string& archive, Problems& problems) {
  for (const std::string& file : shard_files(resolved(archive))) {
    try {
      StoredCells shard = open_shard(file);
      for (const CellRecord& cell : shard.index.cells) static_cast<void>(shard.load(cell));
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
    check_shards(path, problems);
  } catch (const ArchiveError& error) {
    problems.push_back(error.what());
  }
  return problems;
}

}  // namespace sweep
