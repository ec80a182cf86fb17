// Results of cells that the latest plan lacks.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "sweeps/archive/reader.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
namespace fs = std::filesystem;

namespace {

/// An archive of four cells, and plans that have some of them.
class Replanned : public ArchiveWorld {
 public:
  Replanned() : ArchiveWorld(4), all_(plan) {}

  void plan_cells(const std::vector<int>& cells) {
    plan.clear();
    for (const int cell : cells) plan.push_back(all_[static_cast<std::size_t>(cell)]);
    options.spec_text += "# changed\n";
  }
  void run_cells(const std::vector<int>& cells) {
    plan_cells(cells);
    open();
    run_all(cells);
    close();
  }

 private:
  std::vector<CellRecord> all_;
};

int cell_number(const CellRecord& cell) {
  return static_cast<int>(std::get<std::int64_t>(cell.axes[1].second));
}

/// The cells with a result, by number, in the order of the file; those that are kept as -1 - n.
std::vector<int> stored_in(const std::string& path) {
  std::vector<int> cells;
  const ArchiveReader archive(path);
  for (const CellRecord& cell : archive.cells())
    if (cell.status == CellStatus::ok)
      cells.push_back(cell.kept ? -1 - cell_number(cell) : cell_number(cell));
  return cells;
}

constexpr int kept(int cell) { return -1 - cell; }

}  // namespace

TEST_CASE("results of cells that the plan lacks stay behind it, with their rows", "[archive]") {
  Replanned world;
  world.run_cells({0, 1, 2, 3});
  world.plan_cells({3, 1});
  world.open();
  CHECK(world.done() == std::vector<int>{3, 1});
  REQUIRE(world.archive().kept().size() == 2);
  CHECK(cell_number(world.archive().kept()[1]) == 2);
  world.close();
  CHECK(stored_in(world.path()) == std::vector<int>{3, 1, kept(0), kept(2)});
  CHECK(ArchiveReader(world.path()).load(3).result.steps.rows() ==
        world.result(2).result.steps.rows());
  CHECK(check_archive(world.path()).empty());
  CHECK_FALSE(fs::exists(world.spool()));
}

TEST_CASE("a plan that has a cell again takes its result", "[archive]") {
  Replanned world, straight;
  world.run_cells({0, 1, 2, 3});
  world.run_cells({});
  CHECK(stored_in(world.path()) == std::vector<int>{kept(0), kept(1), kept(2), kept(3)});
  straight.run_cells({0, 1, 2, 3});
  world.plan_cells({0, 1, 2, 3});
  world.options.spec_text = straight.options.spec_text;
  world.open().finalize();
  world.close();
  CHECK(archive_differences(world.path(), straight.path()).empty());
}

TEST_CASE("results of many plans are all in the archive, each once", "[archive]") {
  Replanned world;
  for (const std::vector<int>& cells : std::vector<std::vector<int>>{{0}, {1}, {0, 2}, {3}, {1}})
    for (int again = 0; again < 2; ++again) {
      world.plan_cells(cells);
      world.open();
      for (const int cell : cells)
        if (std::ranges::count(world.done(), cell) == 0) world.commit(cell);
      world.archive().finalize();
      world.close();
    }
  CHECK(stored_in(world.path()) == std::vector<int>{1, kept(3), kept(0), kept(2)});
  CHECK(check_archive(world.path()).empty());
}

TEST_CASE("shards that a killed run left are kept by a run with another plan", "[archive]") {
  Replanned world;
  world.plan_cells({0, 1});
  world.open();
  world.commit(0);
  world.close();  // without a merge
  world.run_cells({2, 3});
  CHECK(stored_in(world.path()) == std::vector<int>{2, 3, kept(0)});
  CHECK_FALSE(fs::exists(world.spool()));
}

TEST_CASE("a damaged shard in place of a kept result is set aside", "[archive]") {
  Replanned world;
  world.run_cells({0, 1});
  fs::create_directory(world.spool());
  std::ofstream(world.shard(0)) << "not a shard";
  world.run_cells({2});
  CHECK(fs::exists(world.shard(0) + ".damaged"));
  CHECK(stored_in(world.path()) == std::vector<int>{2, kept(0), kept(1)});
}

TEST_CASE("a merge of archives and a salvage keep what both plans lack", "[archive]") {
  Replanned a, b;
  a.run_cells({0, 1});
  a.run_cells({2});
  b.run_cells({1});
  b.run_cells({3});
  const std::string merged = a.scratch() + "/merged.h5", saved = a.scratch() + "/saved.h5";
  merge_archives(a.path(), b.path(), merged);
  CHECK(stored_in(merged).size() == 4);
  CHECK(check_archive(merged).empty());
  salvage_archive(a.path(), saved);
  CHECK(stored_in(saved) == std::vector<int>{2, kept(0), kept(1)});
}

TEST_CASE("a process killed ahead of any change under a new plan loses no result",
          "[archive][crash]") {
  const auto first = [](Replanned& world) {
    world.run_cells({0, 1});
    world.plan_cells({1, 2});
    world.open();
    world.commit(2);  // and its shard stays
    world.close();
  };
  WatchedFiles counted;
  Replanned whole;
  first(whole);
  whole.files = &counted;
  whole.run_cells({3});
  for (int kill_at = 1; kill_at <= counted.operations; kill_at += support::stride()) {
    INFO("killed ahead of change " << kill_at);
    Replanned world;
    first(world);
    int status = 0;
    acknowledged_by(
        [&](const auto&) {
          WatchedFiles files;
          files.before = [kill_at](int operation) {
            if (operation == kill_at) ::kill(::getpid(), SIGKILL);
          };
          world.files = &files;
          world.run_cells({3});
        },
        status);
    world.plan_cells({3});
    world.open();
    if (world.done().empty()) world.commit(3);
    world.archive().finalize();
    world.close();
    CHECK(stored_in(world.path()) == stored_in(whole.path()));
  }
}
