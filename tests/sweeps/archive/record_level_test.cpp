#include <unistd.h>

#include <filesystem>

#include "sweeps/archive/reader.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

namespace {

using Sentences = std::vector<std::string>;

/// Three cells at a level.
class Recorded : public ArchiveWorld {
 public:
  explicit Recorded(RecordLevel at, const std::vector<int>& cells = {0, 1, 2},
                    const std::string& what = "")
      : ArchiveWorld(3) {
    variant = what;
    ask(at);
    open();
    run_all(cells);
    close();
  }
  void ask(RecordLevel at) { level = options.record = at; }
};

/// Runs what the level still lacks. Returns how many cells that were.
int go_on(
    ArchiveWorld& world, const std::function<void(int)>& acknowledged = [](int) {}) {
  Archive& archive = world.open();
  int ran = 0;
  for (const int cell : {2, 0, 1}) {
    const std::vector<int> done = world.done();
    if (std::ranges::count(done, cell) > 0) continue;
    archive.marks().write({world.key(cell), 1, 0, "n", 1, "running", ""});
    world.commit(cell);
    acknowledged(cell);
    ++ran;
    if (cell == 0) archive.merge();
  }
  archive.finalize();
  world.close();
  return ran;
}

std::vector<RecordLevel> levels_of(const std::string& path) {
  std::vector<RecordLevel> levels;
  const ArchiveReader reader(path);
  for (const CellRecord& cell : reader.cells())
    levels.push_back(cell.status == CellStatus::ok ? cell.level : RecordLevel{-1});
  return levels;
}

}  // namespace

TEST_CASE("a cell is stored with the tables of its level", "[archive]") {
  const Recorded whole(RecordLevel::all);
  const auto level = GENERATE(RecordLevel::summary, RecordLevel::jobs);
  const Recorded part(level);
  CHECK(check_archive(part.path()) == Sentences{});
  ArchiveReader has(part.path()), full(whole.path());
  const ShardContents cell = has.load(1), of = full.load(1);
  CHECK(cell.record.level == level);
  CHECK(cell.record.key == of.record.key);
  CHECK(cell.record.figures.size() == of.record.figures.size());
  CHECK(cell.result.jobs.rows() == (level == RecordLevel::jobs ? of.result.jobs.rows() : 0));
  CHECK(cell.result.steps.rows() == 0);
  CHECK(cell.result.sched.rows() == 0);
}

TEST_CASE("tables without rows are in no archive, which is small then", "[archive]") {
  const Recorded part(RecordLevel::summary);
  const H5File file = open_h5(part.path());
  for (const std::string_view table : kCellTables)
    CHECK_FALSE(has_object(file.get(), std::string(table)));
  CHECK(file_bytes(part.path()).size() < 64 * 1024);
  CHECK(ArchiveReader(part.path()).load_table(1, "steps").has("t_s"));
}

TEST_CASE("an archive written at a level is one that was recorded at it", "[archive]") {
  const Recorded whole(RecordLevel::all);
  const auto level = GENERATE(RecordLevel::summary, RecordLevel::jobs);
  const Recorded part(level);
  const std::string target = whole.scratch() + "/part.h5";
  write_at_level(whole.path(), level, target);
  CHECK(check_archive(target) == Sentences{});
  const ArchiveComparison compared = compare_archives(target, part.path());
  CHECK(compared.differences == Sentences{});
  CHECK(compared.at_two_levels == 0);
  const std::string again = whole.scratch() + "/again.h5";
  write_at_level(target, RecordLevel::all, again);  // nothing can be added
  CHECK(archive_differences(again, part.path()) == Sentences{});
  CHECK_THAT(error_of<ArchiveError>([&] { write_at_level(whole.path(), level, target); }),
             Contains("exists already"));
}

TEST_CASE("archives at different levels are equal where both have the tables of a cell",
          "[archive]") {
  const Recorded whole(RecordLevel::all), part(RecordLevel::summary),
      other(RecordLevel::jobs, {0, 1, 2}, "matic");
  const ArchiveComparison same = compare_archives(part.path(), whole.path());
  CHECK(same.differences == Sentences{});
  CHECK(same.at_two_levels == 3);
  const ArchiveComparison different = compare_archives(whole.path(), other.path());
  REQUIRE_FALSE(different.differences.empty());
  CHECK_THAT(different.differences[0], Contains("kv_pool"));
}

TEST_CASE("of two results of a cell a merge keeps the one at the higher level", "[archive]") {
  const Recorded whole(RecordLevel::all, {0, 1}), part(RecordLevel::jobs, {1, 2});
  const std::string ab = whole.scratch() + "/ab.h5", ba = whole.scratch() + "/ba.h5";
  merge_archives(whole.path(), part.path(), ab);
  merge_archives(part.path(), whole.path(), ba);
  CHECK(levels_of(ab) == std::vector{RecordLevel::all, RecordLevel::all, RecordLevel::jobs});
  CHECK(check_archive(ab) == Sentences{});
  CHECK(archive_differences(ab, ba) == Sentences{});
  const Recorded contradicts(RecordLevel::summary, {1}, "matic");
  CHECK_THAT(error_of<ArchiveError>([&] {
               merge_archives(whole.path(), contradicts.path(), whole.scratch() + "/c.h5");
             }),
             Contains("different results"));
}

TEST_CASE("a higher level runs exactly the cells again that are stored below it", "[archive]") {
  const Recorded whole(RecordLevel::all);
  Recorded world(RecordLevel::jobs, {0, 2});
  world.ask(RecordLevel::all);
  CHECK(go_on(world) == 3);  // cell 1 for the first time
  CHECK(check_archive(world.path()) == Sentences{});
  CHECK(archive_differences(world.path(), whole.path()) == Sentences{});
  CHECK(go_on(world) == 0);
  world.ask(RecordLevel::summary);
  CHECK(go_on(world) == 0);  // stored above it
  CHECK(archive_differences(world.path(), whole.path()) == Sentences{});
}

TEST_CASE("a result is not replaced by one at its level or below, or by a failure", "[archive]") {
  Recorded world(RecordLevel::jobs, {0});
  world.open();
  const auto refused = [&](const std::string& bytes) {
    return error_of<ArchiveError>([&] { world.archive().commit(world.key(0), bytes); });
  };
  CHECK_THAT(refused(world.bytes(0)), Contains("has a result already"));
  world.level = RecordLevel::summary;
  CHECK_THAT(refused(world.bytes(0)), Contains("has a result already"));
  ShardContents failed;
  failed.record = world.planned(0);
  failed.record.status = CellStatus::failed;
  CHECK_THAT(refused(shard_bytes(failed)), Contains("has a result already"));
  CHECK(world.done() == std::vector<int>{0});
}

TEST_CASE("a reader sees the higher level as soon as it is committed", "[archive]") {
  Recorded world(RecordLevel::jobs);
  world.ask(RecordLevel::all);
  world.open();
  world.commit(1);
  CHECK(levels_of(world.path()) ==
        std::vector{RecordLevel::jobs, RecordLevel::all, RecordLevel::jobs});
  ArchiveReader reader(world.path());
  CHECK(reader.load_table(1, "steps").rows() == world.result(1).result.steps.rows());
}

TEST_CASE("of a result with a damaged replacement the archive still has the lower level",
          "[archive]") {
  Recorded world(RecordLevel::jobs);
  world.ask(RecordLevel::all);
  world.open();
  for (const int cell : {0, 1}) world.commit(cell);
  std::filesystem::resize_file(world.shard(1), 100);
  SECTION("when the run merges it") { world.archive().finalize(); }
  SECTION("when the next run finds it") { world.open(); }
  world.close();
  REQUIRE(world.warnings.size() == 1);
  CHECK_THAT(world.warnings[0], Contains(world.shard(1) + " is damaged"));
  CHECK(levels_of(world.path()) ==
        std::vector{RecordLevel::all, RecordLevel::jobs, RecordLevel::jobs});
  CHECK(check_archive(world.path()) == Sentences{});
  CHECK(go_on(world) == 2);
  CHECK(archive_differences(world.path(), Recorded(RecordLevel::all).path()) == Sentences{});
}

TEST_CASE("a plan without a cell keeps its replacement that was not merged", "[archive]") {
  Recorded world(RecordLevel::jobs);
  world.ask(RecordLevel::all);
  world.open();
  world.commit(2);
  world.close();
  const CellRecord last = world.plan[2];
  world.plan.pop_back();
  world.open();
  world.plan.push_back(last);
  world.open();
  CHECK(world.done() == std::vector<int>{2});
  CHECK(world.warnings.empty());
}

TEST_CASE("a process killed ahead of any change while it replaces results loses none",
          "[archive][crash]") {
  const Recorded whole(RecordLevel::all);
  WatchedFiles counted;
  {
    Recorded world(RecordLevel::jobs);
    world.ask(RecordLevel::all);
    world.files = &counted;
    REQUIRE(go_on(world) == 3);
  }
  REQUIRE(counted.operations > 30);
  for (int kill_at = 1; kill_at <= counted.operations; kill_at += support::stride()) {
    INFO("killed at change " << kill_at);
    Recorded world(RecordLevel::jobs);
    world.ask(RecordLevel::all);
    WatchedFiles files;
    world.files = &files;
    files.before = [kill_at](int operation) {
      if (operation == kill_at) ::_exit(9);
    };
    int status = 0;
    const std::set<int> acknowledged =
        acknowledged_by([&](const auto& say) { go_on(world, say); }, status);
    REQUIRE(status != 0);
    const std::vector<RecordLevel> levels = levels_of(world.path());
    for (const int cell : {0, 1, 2}) {
      const bool is_all = levels[static_cast<std::size_t>(cell)] == RecordLevel::all;
      CHECK((is_all || (!acknowledged.contains(cell) &&
                        levels[static_cast<std::size_t>(cell)] == RecordLevel::jobs)));
    }
    CHECK(check_archive(world.path()) == Sentences{});
    files.before = [](int) {};
    CHECK(go_on(world) <= 3 - static_cast<int>(acknowledged.size()));
    CHECK(world.warnings.empty());
    CHECK(archive_differences(world.path(), whole.path()) == Sentences{});
    CHECK(check_archive(world.path()) == Sentences{});
  }
}
