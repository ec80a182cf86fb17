// What a mark says of a cell's earlier deaths, when a process or the power ends at the worst
// instant.
#include "sweeps/commits/marks.hpp"

#include <unistd.h>

#include <fstream>
#include <map>

#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"
#include "tests/sweeps/archive/forgetful_disk.hpp"

using namespace sweep;

TEST_CASE("a process killed while it replaces a mark leaves the deaths that were counted",
          "[archive][crash]") {
  /// Also calls before() when a file is created or truncated, and nothing is in it yet.
  class TwoSteps : public WatchedFiles {
    void write(const std::string& path, std::string_view bytes) override {
      WatchedFiles::write(path, "");
      WatchedFiles::write(path, bytes);
    }
  } files;
  ArchiveWorld world(1);
  world.files = &files;
  world.open();
  RunMark mark{world.key(0), 2, 1, "node-7", 99, "running", ""};
  world.archive().marks().write(mark);
  files.before = [&](int operation) {
    INFO("ahead of change " << operation);
    const std::vector<RunMark> found = run_marks(world.path());
    REQUIRE(found.size() == 1);
    CHECK(found[0].deaths == 1);
    CHECK((found[0].attempt == 2 || found[0].attempt == 3));
  };
  mark.attempt = 3;
  const int before = files.operations;
  world.archive().marks().write(mark);
  CHECK(files.operations > before + 2);
  CHECK(run_marks(world.path()).at(0).attempt == 3);
}

TEST_CASE("a power cut while a mark is replaced leaves the deaths that were counted",
          "[archive][crash]") {
  bool cut = true;
  for (int cut_at = 1; cut; ++cut_at) {
    INFO("power cut at change " << cut_at);
    ArchiveWorld world(1);
    ForgetfulDisk disk(world.scratch());
    world.files = &disk;
    world.open();
    RunMark mark{world.key(0), 2, 1, "node-7", 99, "running", ""};
    world.archive().marks().write(mark);
    disk.before = [last = disk.operations + cut_at](int operation) {
      if (operation == last) throw PowerCut();
    };
    mark.attempt = 3;
    try {
      world.archive().marks().write(mark);
      cut = false;
    } catch (const PowerCut&) {
    }
    world.close();
    disk.cut_power(world.path());
    const std::vector<RunMark> found = run_marks(world.path());
    REQUIRE(found.size() == 1);
    CHECK(found[0].deaths == 1);
    CHECK((found[0].attempt == 3 || (cut && found[0].attempt == 2)));
  }
}

TEST_CASE("a process killed while it takes a shared mark apart leaves what is known of each cell",
          "[archive][crash]") {
  int status = -1;
  for (int kill_at = 1; status != 0; ++kill_at) {
    INFO("killed at change " << kill_at);
    ArchiveWorld world(3);
    WatchedFiles files;
    world.files = &files;
    world.open();
    RunMark mark{world.key(0), 4, 0, "node-7", 99, "running", "", true};
    mark.with = world.keys({1, 2});
    world.archive().marks().write(mark);
    std::ofstream(world.archive().marks().path(world.key(0)), std::ios::app)
        << "by=" << world.key(1) << "\ndied=signal 11\n";
    world.close();
    files.before = [last = files.operations + kill_at](int operation) {
      if (operation == last) ::_exit(9);
    };
    acknowledged_by([&](const auto&) { world.open(); }, status);
    files.before = [](int) {};
    world.open();
    std::map<std::string, std::pair<int, int>> known;  // attempt and deaths, by key
    for (const RunMark& each : world.archive().deaths())
      known[each.key] = {each.attempt, deaths_of(each)};
    CHECK(known == std::map<std::string, std::pair<int, int>>{
                       {world.key(0), {4, 0}}, {world.key(1), {4, 1}}, {world.key(2), {4, 0}}});
  }
}

TEST_CASE("a mark whose last line was cut off keeps the lines before it", "[archive][crash]") {
  ArchiveWorld world(1);
  world.open();
  const RunMark mark{world.key(0), 2, 1, "node-7", 99, "running", ""};
  world.archive().marks().write(mark);
  const std::string line = "died=signal 11\n";
  std::string written;
  for (const char letter : line) {
    std::ofstream(world.archive().marks().path(mark.key), std::ios::app) << letter;
    written += letter;
    INFO("after " << written);
    world.close();
    const std::vector<RunMark> found = run_marks(world.path());
    REQUIRE(found.size() == 1);
    CHECK(found[0].attempt == 2);
    CHECK(found[0].deaths == 1);
    CHECK(found[0].host == "node-7");
    CHECK(found[0].pid == 99);
    CHECK(found[0].phase == "running");
    world.open();
    REQUIRE(world.archive().deaths().size() == 1);
    CHECK(deaths_of(world.archive().deaths()[0]) == (written.size() > 5 ? 2 : 1));
  }
}

TEST_CASE("starts that no commit followed are reported to the next run, with what is known of them",
          "[archive]") {
  ArchiveWorld world(3);
  world.open();
  for (const int cell : {0, 1, 2}) {
    world.archive().marks().write({world.key(cell), 2, 1, "node-7", 99, "running", ""});
  }
  std::ofstream(world.archive().marks().path(world.key(1)), std::ios::app) << "died=signal 11\n";
  world.commit(0);
  world.archive().marks().remove(world.key(2));
  world.open();
  REQUIRE(world.archive().deaths().size() == 1);
  const RunMark& death = world.archive().deaths().front();
  CHECK(death.key == world.key(1));
  CHECK(death.attempt == 2);
  CHECK(death.deaths == 1);
  CHECK(death.host == "node-7");
  CHECK(death.pid == 99);
  CHECK(death.phase == "running");
  CHECK(death.died == "signal 11");
}

TEST_CASE("a start counts as a death when it is signed for, or was all that ran and not stopped") {
  RunMark mark;
  mark.deaths = 1;
  CHECK(deaths_of(mark) == 1);  // another process drove, and no note blames the cell
  mark.alone = true;
  CHECK(deaths_of(mark) == 2);
  mark.stopped = "1";
  CHECK(deaths_of(mark) == 1);
  mark.died = "signal 11";
  CHECK(deaths_of(mark) == 2);
}
