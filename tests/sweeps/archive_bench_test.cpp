// Not part of the default run: test_sweeps "[.bench]" prints what docs/archive.md states.
#include <chrono>
#include <filesystem>
#include <iostream>

#include "tests/support/catch.hpp"
#include "tests/sweeps/archive_world.hpp"

using namespace sweep;

namespace {

class Stopwatch {
 public:
  double s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double mib(const std::string& path) {
  return static_cast<double>(std::filesystem::file_size(path)) / (1 << 20);
}

ShardContents large_cell(const ArchiveWorld& world, int cell) {
  ShardContents contents = world.result(cell);
  TableBuilder<SchedRow> sched;
  const auto& tok = contents.result.steps.values<std::int32_t>("n_tok");
  for (std::size_t step = 0; step < tok.size(); ++step) {
    for (int request = 0; request < 15; ++request) {
      SchedRow row;
      row.step = static_cast<std::int64_t>(step) + 1;
      row.job = (static_cast<int>(step / 40) + request) % 100;
      row.turn = static_cast<int>(step / 400);
      row.tokens = request == 0 ? tok[step] : 1;
      row.computed_before = static_cast<int>(step) * 3 + 700 * request;
      sched.add(row);
    }
  }
  contents.result.sched = sched.build();
  return contents;
}

}  // namespace

TEST_CASE("how long a matrix of 72 cells of 4,500 steps takes", "[.bench]") {
  ArchiveWorld world(72, 4500);
  world.open();
  double form_s = 0, commit_s = 0, shards_mib = 0;
  for (int cell = 0; cell < 72; ++cell) {
    const ShardContents contents = large_cell(world, cell);
    const Stopwatch forming;
    const std::string bytes = shard_bytes(contents, "/dev/shm");
    form_s += forming.s();
    shards_mib += static_cast<double>(bytes.size()) / (1 << 20);
    const Stopwatch committing;
    world.archive().commit(world.key(cell), bytes);
    commit_s += committing.s();
  }
  const Stopwatch finishing;
  world.archive().finalize();
  std::cout << "72 large cells: form " << form_s << " s, shards " << shards_mib << " MiB, commit "
            << commit_s / 72 * 1e3 << " ms each, final merge " << finishing.s() << " s, archive "
            << mib(world.path()) << " MiB\n";
  world.close();
  std::reverse(world.plan.begin(), world.plan.end());
  const Stopwatch reordering;
  world.open();
  std::cout << "putting all rows in another order: " << reordering.s() << " s\n";
  CHECK(world.done().size() == 72);
}

TEST_CASE("how long 10,000 tiny cells take", "[.bench]") {
  const int cells = support::scaled(10'000);
  ArchiveWorld world(cells, 10);
  world.open();
  double form_s = 0, commit_s = 0, merge_s = 0;
  for (int cell = 0; cell < cells; ++cell) {
    const Stopwatch forming;
    const std::string bytes = shard_bytes(world.result((cell * 7) % cells), "/dev/shm");
    form_s += forming.s();
    const Stopwatch committing;
    world.archive().commit(world.key((cell * 7) % cells), bytes);
    commit_s += committing.s();
    const Stopwatch merging;
    world.archive().merge_if_due();
    merge_s += merging.s();
  }
  const Stopwatch finishing;
  world.archive().finalize();
  const double final_s = finishing.s();
  world.close();
  const Stopwatch resuming;
  world.open();
  std::cout << cells << " tiny cells: form " << form_s / cells * 1e3 << " ms, commit "
            << commit_s / cells * 1e3 << " ms each; merges " << merge_s << " s, final merge "
            << final_s << " s, resume scan " << resuming.s() << " s, archive " << mib(world.path())
            << " MiB\n";
  CHECK(static_cast<int>(world.done().size()) == cells);
}
