#include <fstream>

#include "sweeps/archive/reader.hpp"
#include "sweeps/commits/archive.hpp"
#include "sweeps/commits/marks.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;

TEST_CASE("cells that are committed together are stored, read and merged like others",
          "[archive]") {
  ArchiveWorld together(5), alone(5);
  together.open();
  together.archive().commit(together.keys({1, 2, 4}), together.bytes({1, 2, 4}));
  CHECK(together.done() == std::vector{1, 2, 4});
  {
    ArchiveReader reader(together.path());
    CHECK(reader.shards() == 3);
    for (const int cell : {1, 2, 4})
      CHECK(same_results(reader.load_table(cell, "steps"), together.result(cell).result.steps));
    CHECK(check_archive(together.path()) == std::vector<std::string>{});
  }
  together.open();
  CHECK(together.done() == std::vector{1, 2, 4});
  together.archive().commit(together.keys({3, 0}), together.bytes({3, 0}));
  together.archive().finalize();
  CHECK(names_in(together.spool()) == std::vector<std::string>{"lock"});
  alone.open();
  alone.run_all({0, 1, 2, 3, 4});
  together.close();
  CHECK(archive_differences(alone.path(), together.path()) == std::vector<std::string>{});
  CHECK(check_archive(together.path()) == std::vector<std::string>{});
}

TEST_CASE("a result at a higher level leaves the file alone that its cell shares with others",
          "[archive]") {
  ArchiveWorld world(3);
  world.level = RecordLevel::jobs;
  world.open();
  world.archive().commit(world.keys({0, 1}), world.bytes({0, 1}));
  world.level = RecordLevel::all;
  world.commit(0);
  CHECK(names_in(world.spool()).size() == 3);  // two shards and the lock
  const auto check = [&] {
    ArchiveReader reader(world.path());
    CHECK(reader.cells()[0].level == RecordLevel::all);
    CHECK(reader.load_table(0, "steps").rows() == 20);
    CHECK(reader.cells()[1].level == RecordLevel::jobs);
    CHECK(check_archive(world.path()).empty());
  };
  check();
  SECTION("a merge of this run removes both") { world.archive().finalize(); }
  SECTION("as does the next run") { world.open(); }
  CHECK(names_in(world.spool()) == std::vector<std::string>{"lock"});
  check();
}

TEST_CASE("a shared file stays while a plan lacks a cell that failed, and its results are merged",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  ShardContents failed = world.result(1);
  failed.record.status = CellStatus::failed;
  failed.result = {};
  world.archive().commit(world.keys({0, 1}), shard_bytes({world.result(0), failed}));
  world.close();
  const CellRecord left_out = world.plan.back();
  world.plan.pop_back();
  for (int start = 0; start < 2; ++start) {
    world.open();
    CHECK(world.done() == std::vector{0});
    CHECK(names_in(world.spool()).size() == 2);
    CHECK(world.warnings.empty());
  }
  world.plan.push_back(left_out);
  world.open();
  CHECK(world.archive().cells()[1].status == CellStatus::failed);
  CHECK(names_in(world.spool()) == std::vector<std::string>{"lock"});
}

TEST_CASE("a result that holds other cells than were told is refused", "[archive]") {
  ArchiveWorld world(3);
  world.open();
  CHECK_THROWS_AS(world.archive().commit(world.keys({0, 1}), world.bytes({0, 2})), ArchiveDamaged);
  CHECK_THROWS_AS(world.archive().commit(world.key(0), world.bytes({0, 1})), ArchiveDamaged);
  CHECK(world.done().empty());
  CHECK(names_in(world.spool()) == std::vector<std::string>{"lock"});
}

TEST_CASE("a mark of several cells names each to the next run, and blames only the one it knows of",
          "[archive]") {
  ArchiveWorld world(4);
  world.open();
  RunMark mark{world.key(0), 1, 0, "node-7", 99, "running", "", true};
  mark.with = world.keys({1, 2});
  world.archive().marks().write(mark);
  CHECK(run_marks(world.path()).size() == 3);
  std::string to_blame;
  SECTION("a process that is killed blames none") {}
  SECTION("a cell that crashes it is to blame") {
    to_blame = world.key(1);
    std::ofstream(world.archive().marks().path(world.key(0)), std::ios::app)
        << "by=" << to_blame << "\ndied=signal 11\n";
  }
  for (int start = 0; start < 2; ++start) {
    world.open();
    REQUIRE(world.archive().deaths().size() == 3);
    for (const RunMark& each : world.archive().deaths()) {
      CHECK(each.attempt == 1);
      CHECK(deaths_of(each) == (each.key == to_blame ? 1 : 0));
    }
  }
  world.commit(1);
  CHECK(run_marks(world.path()).size() == 2);
}
