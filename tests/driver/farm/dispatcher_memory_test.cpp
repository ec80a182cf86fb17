#include "driver/farm/dispatcher.hpp"

#include "tests/driver/farm/dispatcher_world.hpp"
#include "tests/support/catch.hpp"

using namespace driver;
using Catch::Matchers::Contains;
using driver_test::big_cell;
using driver_test::cell;
using driver_test::World;
using std::chrono::seconds;

TEST_CASE("two 128-GiB cells on a 200-GiB node never overlap") {
  World world({big_cell(0, 128), big_cell(1, 128)}, {.workers = 2});
  world.join(1, "", "n1", 200);
  world.join(2, "", "n1", 200);
  CHECK(world.busy() == std::vector{1});
  world.done(1);
  CHECK(world.busy().size() == 1);
  world.done(world.busy()[0]);
  CHECK(world.dispatcher.finished());
}

TEST_CASE(
    "a blocked big cell reserves memory: small cells run meanwhile, but cannot delay it forever") {
  std::vector<CellTask> cells = {big_cell(0, 128, 9), big_cell(1, 128, 8)};
  for (int i = 2; i < 30; ++i) cells.push_back(big_cell(i, 40, 1));
  World world(cells, {.workers = 3});
  for (int worker = 1; worker <= 3; ++worker) world.join(worker, "", "n1", 200);
  REQUIRE(world.cell_of(1) == 0);  // 128 of 200 GiB: one small cell fits beside it
  CHECK(world.cell_of(2) == 2);
  CHECK_FALSE(world.cell_of(3));
  world.done(2);
  CHECK(world.busy().size() == 2);
  world.done(1);  // now the other big one, before the small ones
  CHECK(std::count(world.started().begin(), world.started().end(), 1) == 1);
}

TEST_CASE("a cell with a reservation starts even if small cells could keep the node full forever") {
  std::vector<CellTask> cells;
  for (int i = 0; i < 40; ++i) cells.push_back(big_cell(i, 50, 10));
  cells.push_back(big_cell(40, 100, 5));
  cells.push_back(big_cell(41, 150, 20));
  World world(cells, {.workers = 4});
  for (int worker = 1; worker <= 3; ++worker) world.join(worker, "", "n1", 200);
  // 41 (150) + 0 (50) run. Whatever ends, the node never empties by itself.
  for (int round = 0; round < 6; ++round) world.done(world.busy().back());
  world.join(4, "", "n1", 200);
  for (int round = 0; round < 200 && !world.dispatcher.finished(); ++round)
    world.done(world.busy()[static_cast<std::size_t>(round) % world.busy().size()]);
  CHECK(world.dispatcher.finished());
  world.check_end();
}

TEST_CASE("a cell with a reservation starts before a longer one that is retried") {
  World world({big_cell(0, 150, 9), big_cell(1, 150, 8), cell(2, 1), cell(3, 20)}, {.workers = 3});
  world.join(3, "", "n1", 200);
  world.join(1, "", "n1", 200);
  world.join(2, "", "n1", 200);
  REQUIRE(world.cell_of(3) == 3);
  REQUIRE(world.cell_of(1) == 0);
  REQUIRE(world.cell_of(2) == 2);  // 1 was passed over and reserves
  world.fail(3);
  world.done(1);
  CHECK(world.cell_of(1) == 1);
}

TEST_CASE("a reservation ends with the worker that would have used it") {
  // Worker 1 is the only one for cell 1, which reserves while worker 2 holds 100 of 200 GiB.
  std::vector<CellTask> cells = {big_cell(0, 100, 9), big_cell(1, 150, 8), big_cell(2, 100, 1),
                                 cell(3, 1)};
  cells[0].sku = cells[2].sku = "a100-40gb";
  World world(cells, {.workers = 2, .silence = seconds(10)});
  world.join(2, "a100-40gb", "n1", 200);
  world.join(1, "h100-80gb", "n1", 200);
  REQUIRE(world.cell_of(2) == 0);
  REQUIRE(world.cell_of(1) == 3);
  SECTION("poisoned") { world.poison(1); }
  SECTION("silent") { world.pass(seconds(12), {1}); }
  SECTION("its process gone") { world.kill(1); }
  SECTION("its process gone while it was idle") {
    world.done(1);
    world.kill(1);
  }
  world.done(2);
  CHECK(world.cell_of(2) == 2);
}

TEST_CASE("a cell that fits no node is infeasible, with the numbers") {
  World world({big_cell(0, 300), big_cell(1, 100)}, {.workers = 2});
  world.join(1, "", "n1", 200);
  CHECK(world.fate(0).empty());  // a larger node may still say hello
  world.join(2, "", "n2", 250);
  CHECK(world.fate(0) == "infeasible");
  CHECK(world.reason(0) ==
        "needs 300 GiB of host memory, the largest node for it, n2, has 250 GiB");
  CHECK(world.cell_of(1) == 1);
}

TEST_CASE("a large node without the cell's SKU does not make the cell feasible") {
  World world({big_cell(0, 300)}, {.workers = 2});
  world.join(1, "h100-80gb", "n1", 200);
  world.join(2, "a100-40gb", "n2", 2000);
  CHECK(world.fate(0) == "infeasible");
  CHECK_THAT(world.reason(0), Contains("n1, has 200 GiB"));
}

TEST_CASE("if workers of a node disagree about its memory, the smallest value counts") {
  World world({big_cell(0, 100), big_cell(1, 100)}, {.workers = 2});
  world.join(1, "", "n1", 300);
  world.join(2, "", "n1", 150);
  CHECK(world.busy() == std::vector{1});
}

TEST_CASE("a sim cell reserves nothing, also on a node without memory") {
  World world({cell(0), cell(1)}, {.workers = 2});
  world.join(1, "", "n1", 0);
  world.join(2, "", "n1", 0);
  CHECK(world.busy().size() == 2);
}

TEST_CASE("GPU workers keep their tiers between cells while any cell still fits on each of them") {
  std::vector<CellTask> cells;
  for (int i = 0; i < 12; ++i) cells.push_back(big_cell(i, 128));
  for (int i = 12; i < 16; ++i) cells.push_back(cell(i, 0.5));
  World world(cells, {.backend = "cuda", .workers = 4});
  for (int worker = 1; worker <= 4; ++worker) world.join(worker, "", "n1", 460);
  for (std::size_t i = 0; !world.dispatcher.finished(); ++i) {
    const std::vector<int> busy = world.busy();
    REQUIRE_FALSE(busy.empty());
    world.done(busy[i % busy.size()]);
  }
  CHECK(world.most_kept_gib() == 256);  // a third tier kept would leave no room on the fourth
  CHECK(world.most_held_gib() == 384);
}

TEST_CASE("a worker of the cpu backend keeps no host memory") {
  World world({big_cell(0, 100), big_cell(1, 100)}, {.backend = "cpu", .workers = 2});
  world.join(1, "", "n1", 500);
  world.done(1);
  CHECK(world.kept_gib(1) == 0);
}

TEST_CASE("a GPU worker keeps no host memory of a failed cell") {
  World world({big_cell(0, 100), big_cell(1, 100)}, {.backend = "cuda", .workers = 1});
  world.join(1, "", "n1", 500);
  world.fail(1);
  CHECK(world.kept_gib(1) == 0);
  world.done(1);
  CHECK(world.kept_gib(1) == 100);
}
