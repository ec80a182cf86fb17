// Random histories. World::obey checks the invariants at every command.
#include <random>

#include "tests/driver/farm/dispatcher_world.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace driver;
using driver_test::World;
using std::chrono::seconds;

namespace {

using Random = std::mt19937;

int draw(Random& random, int below) {
  return static_cast<int>(random() % static_cast<unsigned>(below));
}

const std::vector<std::string> kSkus = {"a100-40gb", "h100-80gb", "h200-141gb"};

std::vector<CellTask> random_cells(Random& random) {
  std::vector<CellTask> cells;
  for (int i = 1 + draw(random, 40); i > 0; --i)
    cells.push_back({.cell = static_cast<int>(cells.size()),
                     .sku = kSkus[static_cast<std::size_t>(draw(random, 3))],
                     .estimate_s = static_cast<double>(draw(random, 30)),
                     .host_gib = draw(random, 3) == 0 ? 0.0 : 10.0 * draw(random, 25),
                     .attempts = draw(random, 2),
                     .deaths = draw(random, 20) == 0 ? 2 : draw(random, 2)});
  return cells;
}

DispatchRules random_rules(Random& random, int workers) {
  DispatchRules rules{.workers = workers};
  if (draw(random, 2) == 0) rules.backend = "cuda";  // whose workers keep host memory
  if (draw(random, 3) == 0) rules.deadline = seconds(100 + draw(random, 300));
  if (draw(random, 2) == 0) rules.together = seconds(draw(random, 60));
  if (draw(random, 3) == 0) rules.cell_timeout = seconds(5 + draw(random, 30));
  return rules;
}

void join_random(World& world, Random& random, int worker) {
  const std::string node = "n" + std::to_string(draw(random, 2));
  const std::string sku =
      draw(random, 3) == 0 ? "" : kSkus[static_cast<std::size_t>(draw(random, 3))];
  world.join(worker, sku, node, node == "n0" ? 150 : 240);
}

/// A random event.
void happen(World& world, Random& random) {
  const std::vector<int> busy = world.busy();
  const int kind = draw(random, 100);
  if (kind < 2) return world.kill(1 + draw(random, 6), /*replaced=*/draw(random, 2) == 0);
  if (kind < 3) return draw(random, 4) == 0 ? world.stop_now() : world.drain();
  if (kind < 30 || busy.empty()) {
    std::set<int> silent;
    if (!busy.empty() && draw(random, 10) == 0) silent.insert(busy.front());
    return world.pass(seconds(1 + draw(random, silent.empty() ? 5 : 90)), silent);
  }
  const int worker = busy[static_cast<std::size_t>(draw(random, static_cast<int>(busy.size())))];
  if (world.asked_to_abandon(worker) && kind < 70) return world.abandoned(worker);
  if (kind < 40) return world.fail(worker);
  if (kind < 43) return world.poison(worker);
  if (kind < 46) return world.fail(worker, sweep::CellStatus::infeasible);
  if (kind < 50) return world.fault_machine(worker);
  world.done(worker);
}

}  // namespace

TEST_CASE("random histories keep all invariants and end or leave every cell exactly once") {
  const int histories = support::scaled(3000);
  int finished_alone = 0;
  for (int seed = 0; seed < histories; ++seed) {
    INFO("seed " << seed);
    Random random(static_cast<unsigned>(seed));
    const int workers = 1 + draw(random, 6);
    World world(random_cells(random), random_rules(random, workers));
    for (int worker = 1; worker <= workers; ++worker) {
      join_random(world, random, worker);
      for (int i = draw(random, 4); i > 0 && !world.dispatcher.finished(); --i)
        happen(world, random);
    }
    for (int i = draw(random, 120); i > 0 && !world.dispatcher.finished(); --i)
      happen(world, random);
    if (world.dispatcher.finished()) ++finished_alone;
    // From here on the workers behave, so the run must end.
    for (int i = 0; i < 200 && !world.dispatcher.finished(); ++i) {
      if (!world.busy().empty()) world.done(world.busy().front());
      world.pass(seconds(1));
    }
    REQUIRE(world.dispatcher.finished());
    REQUIRE_NOTHROW(world.check_end());
  }
  CHECK(finished_alone > histories / 10);
  CHECK(finished_alone < histories);
}

TEST_CASE("with honest workers and room for each, every cell is done") {
  for (int seed = 0; seed < support::scaled(500); ++seed) {
    INFO("seed " << seed);
    Random random(static_cast<unsigned>(seed));
    std::vector<CellTask> cells = random_cells(random);
    for (CellTask& cell : cells) cell.deaths = 0;
    World world(cells, {.workers = 5});
    for (int worker = 1; worker <= 5; ++worker)
      world.join(worker, worker <= 3 ? kSkus[static_cast<std::size_t>(worker - 1)] : "",
                 worker % 2 == 0 ? "n0" : "n1", 240);
    while (!world.dispatcher.finished()) {
      const auto busy = world.busy();
      REQUIRE_FALSE(busy.empty());
      world.done(busy[static_cast<std::size_t>(draw(random, static_cast<int>(busy.size())))]);
    }
    for (const CellTask& cell : cells) REQUIRE(world.fate(cell.cell) == "done");
  }
}

TEST_CASE("cells that overtake the next cell in line leave room for it on its node") {
  // Small cells could keep the node full. Of those that start once the big cell is first in line,
  // only as many run at once as fit beside it, so it starts when the earlier ones have ended.
  for (int seed = 0; seed < support::scaled(300); ++seed) {
    INFO("seed " << seed);
    Random random(static_cast<unsigned>(seed));
    std::vector<CellTask> cells;
    for (int i = 0; i < 100; ++i)
      cells.push_back({.cell = i, .sku = "x", .estimate_s = i < 4 ? 50.0 : 1.0, .host_gib = 50});
    cells.push_back({.cell = 100, .sku = "x", .estimate_s = 20, .host_gib = 190});
    World world(cells, {.workers = 4});
    for (int worker = 1; worker <= 4; ++worker) world.join(worker, "x", "n1", 200);
    REQUIRE(world.started() == std::vector{0, 1, 2, 3});
    for (int ended = 0; ended < 4; ++ended) {
      const auto busy = world.busy();
      world.done(busy[static_cast<std::size_t>(draw(random, static_cast<int>(busy.size())))]);
    }
    REQUIRE(world.started().back() == 100);
  }
}
