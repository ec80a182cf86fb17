// Not part of the default run: test_sweeps "[.bench]" prints times and sizes.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;

namespace {

/// Wall time, and the processor time within it: the difference is the disk, and other processes.
class Stopwatch {
 public:
  void start() {
    wall_start_ = std::chrono::steady_clock::now();
    cpu_start_ = std::clock();
  }
  void stop() {
    wall_s_ +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start_).count();
    cpu_s_ += static_cast<double>(std::clock() - cpu_start_) / CLOCKS_PER_SEC;
  }
  std::string each(int count) const {
    return std::to_string(wall_s_ / count * 1e3) + " ms (cpu " +
           std::to_string(cpu_s_ / count * 1e3) + ")";
  }
  std::string all() const {
    return std::to_string(wall_s_) + " s (cpu " + std::to_string(cpu_s_) + ")";
  }
  template <class Action>
  auto time(Action action) {
    start();
    struct Stop {
      Stopwatch* watch;
      ~Stop() { watch->stop(); }
    } stop{this};
    return action();
  }

 private:
  std::chrono::steady_clock::time_point wall_start_;
  std::clock_t cpu_start_ = 0;
  double wall_s_ = 0, cpu_s_ = 0;
};

double mib(const std::string& path) {
  return static_cast<double>(std::filesystem::file_size(path)) / (1 << 20);
}

ShardContents large_cell(const ArchiveWorld& world, int cell) {
  ShardContents contents = world.result(cell);
  std::vector<SchedRow> sched;
  const auto& tok = contents.result.steps.values<std::int32_t>("n_tok");
  for (std::size_t step = 0; step < tok.size(); ++step) {
    for (int request = 0; request < 15; ++request) {
      SchedRow row;
      row.step = static_cast<std::int64_t>(step) + 1;
      row.job = (static_cast<int>(step / 40) + request) % 100;
      row.turn = static_cast<int>(step / 400);
      row.tokens = request == 0 ? tok[step] : 1;
      row.computed_before = static_cast<int>(step) * 3 + 700 * request;
      sched.push_back(row);
    }
  }
  contents.result.sched = to_table<SchedRow>(sched);
  return contents;
}

}  // namespace

TEST_CASE("how long a matrix of 72 cells of 4,500 steps takes", "[.bench]") {
  ArchiveWorld world(72, 4500);
  world.open();
  Stopwatch form, commit, finalize, reorder;
  double shards_mib = 0;
  for (int cell = 0; cell < 72; ++cell) {
    const ShardContents contents = large_cell(world, cell);
    const std::string bytes = form.time([&] { return shard_bytes(contents); });
    shards_mib += static_cast<double>(bytes.size()) / (1 << 20);
    commit.time([&] { world.archive().commit(world.key(cell), bytes); });
  }
  finalize.time([&] { world.archive().finalize(); });
  std::cout << "72 large cells: form " << form.each(72) << ", shards " << shards_mib
            << " MiB, commit " << commit.each(72) << "\n  final merge " << finalize.all()
            << ", archive " << mib(world.path()) << " MiB\n";
  world.close();
  std::reverse(world.plan.begin(), world.plan.end());
  reorder.time([&] { world.open(); });
  std::cout << "  all rows in another order: " << reorder.all() << "\n";
  CHECK(world.done().size() == 72);
}

TEST_CASE("how long 10,000 tiny cells take", "[.bench]") {
  const int cells = support::scaled(10'000);
  ArchiveWorld world(cells, 10);
  world.open();
  Stopwatch form, commit, merge, finalize, resume;
  for (int i = 0; i < cells; ++i) {
    const int cell = (i * 7) % cells;
    const std::string bytes = form.time([&] { return shard_bytes(world.result(cell)); });
    commit.time([&] { world.archive().commit(world.key(cell), bytes); });
    merge.time([&] { world.archive().merge_if_due(); });
  }
  finalize.time([&] { world.archive().finalize(); });
  world.close();
  resume.time([&] { world.open(); });
  std::cout << cells << " tiny cells: form " << form.each(cells) << ", commit "
            << commit.each(cells) << "\n  merges " << merge.all() << ", final merge "
            << finalize.all() << "\n  resume scan " << resume.all() << ", archive "
            << mib(world.path()) << " MiB\n";
  CHECK(static_cast<int>(world.done().size()) == cells);
}
