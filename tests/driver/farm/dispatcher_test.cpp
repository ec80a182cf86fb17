#include "driver/farm/dispatcher.hpp"

#include "tests/driver/farm/dispatcher_world.hpp"
#include "tests/support/catch.hpp"

using namespace driver;
using driver_test::big_cell;
using driver_test::cell;
using driver_test::World;
using std::chrono::seconds;
using Why = LeftCell::Why;
using Catch::Matchers::Contains;

TEST_CASE(
    "a cell that a fault of the machine ends is retried elsewhere, then left, and never failed") {
  World world({cell(0, 9), cell(1, 1)}, {.workers = 2});
  world.join(1);
  world.join(2);
  world.done(2);
  world.fault_machine(1);
  REQUIRE(world.cell_of(2) == 0);
  SECTION("it is done there") {
    world.done(2);
    CHECK(world.fate(0) == "done");
  }
  SECTION("the same there: the next run has it, with the reason") {
    world.fault_machine(2);
    CHECK(world.dispatcher.finished());
    CHECK(world.fate(0).empty());
    CHECK(world.left(0) == LeftCell::Why::machine_fault);
    CHECK(world.dispatcher.left().front().reason == "disk full");
  }
  SECTION("failures of the cell are counted separately") {
    world.fail(2);
    const int next = world.busy().front();
    CHECK(world.attempt_of(next) == 3);
    world.fail(next);
    CHECK(world.fate(0) == "failed");
  }
}

TEST_CASE("the longest expected cell goes first, equals in plan order, unknown ones last") {
  World world({cell(0, 1), cell(1, 0), cell(2, 5), cell(3, 1), cell(4, 9)}, {.workers = 1});
  world.join(1);
  while (world.cell_of(1)) world.done(1);
  CHECK(world.started() == std::vector{4, 2, 0, 3, 1});
  CHECK(world.dispatcher.finished());
  world.check_end();
}

TEST_CASE("cells of a group go one after another, in the place of the group's longest cell") {
  std::vector<driver::CellTask> tasks = {cell(0, 5), cell(1, 9), cell(2, 1), cell(3, 2),
                                         cell(4, 3)};
  for (const std::size_t at : {0U, 3U}) tasks[at].group = 1, tasks[at].group_s = 5;
  for (const std::size_t at : {2U, 4U}) tasks[at].group = 3, tasks[at].group_s = 5;
  World world(tasks, {.workers = 1});
  world.join(1);
  while (world.cell_of(1)) world.done(1);
  CHECK(world.started() == std::vector{1, 0, 3, 2, 4});
}

TEST_CASE("of the cells that ask one server for all workers no two run at once") {
  std::vector<driver::CellTask> tasks = {cell(0), cell(1), cell(2), cell(3)};
  for (const std::size_t at : {0U, 1U, 2U}) tasks[at].group = 1, tasks[at].one_server = true;
  World world(tasks, {.workers = 3});
  for (const int worker : {1, 2, 3}) world.join(worker);
  CHECK(world.started() == std::vector{3, 0});
  SECTION("each follows the one before") {
    for (const int at : {1, 2}) {
      for (const int worker : {1, 2, 3})
        if (world.cell_of(worker) == at - 1) world.done(worker);
      CHECK(world.started().back() == at);
    }
  }
  SECTION("a failed one is tried again when no other runs") {
    for (const int worker : {1, 2, 3})
      if (world.cell_of(worker) == 0) world.fail(worker);
    CHECK(world.started().size() == 3);
  }
}

TEST_CASE("a worker takes only cells of the SKU that it is") {
  World world({cell(0, 9, "a100-40gb"), cell(1, 1, "h100-80gb")}, {.workers = 2});
  world.join(1, "h100-80gb");
  CHECK(world.cell_of(1) == 1);
  world.join(2, "a100-40gb");
  CHECK(world.cell_of(2) == 0);
}

TEST_CASE("a worker without a SKU takes cells of any") {
  World world({cell(0, 9, "a100-40gb"), cell(1, 1, "h100-80gb")}, {.workers = 1});
  world.join(1);
  CHECK(world.cell_of(1) == 0);
  world.done(1);
  CHECK(world.cell_of(1) == 1);
}

TEST_CASE("cells of a SKU that no worker has are left, with both names, and the others run") {
  World world({cell(0, 1, "a100-40gb"), cell(1, 1, "h100-80gb")}, {.workers = 1});
  world.join(1, "h100-80gb");
  world.done(1);
  CHECK(world.dispatcher.finished());
  REQUIRE(world.dispatcher.left().size() == 1);
  CHECK(world.left(0) == Why::no_worker);
  CHECK(world.dispatcher.left()[0].reason ==
        "no sim worker is a a100-40gb; the workers are: h100-80gb");
  CHECK(world.started() == std::vector{1});
}

TEST_CASE("the cells of a server that is not the planned one are left, and the others run") {
  const auto served_by = [](int group, CellTask task) {
    task.group = group;
    return task;
  };
  World world({served_by(1, cell(0)), served_by(1, cell(1)), served_by(1, cell(2)),
               served_by(4, cell(3)), served_by(4, cell(4))},
              {.workers = 2});
  world.join(1);
  world.join(2);
  REQUIRE(world.cell_of(1) == 0);
  REQUIRE(world.cell_of(2) == 1);
  world.refuse_server(1, "it is of version 2");
  CHECK(world.cell_of(1) == 3);
  CHECK(world.left(2) == Why::wrong_server);
  SECTION("one that started meanwhile may end") {
    world.done(2);
    CHECK(world.cell_of(2) == 4);
  }
  SECTION("and is not tried again") {
    world.fail(2);
    CHECK(world.cell_of(2) == 4);
    CHECK(world.left(1) == Why::wrong_server);
  }
  world.done(1);
  world.done(2);
  CHECK(world.dispatcher.finished());
  CHECK(world.dispatcher.left().front().reason == "it is of version 2");
}

TEST_CASE("nothing is left before every worker has said what it is") {
  World world({cell(0, 1, "a100-40gb")}, {.workers = 2, .hello_grace = seconds(10)});
  world.join(1, "h100-80gb");
  world.pass(seconds(5));
  CHECK_FALSE(world.dispatcher.finished());
  SECTION("one that comes late still counts") {
    world.join(2, "a100-40gb");
    CHECK(world.cell_of(2) == 0);
  }
  SECTION("one that never comes is not waited for longer than the grace") {
    world.pass(seconds(6));
    CHECK(world.dispatcher.finished());
    CHECK(world.left(0) == Why::no_worker);
  }
}

TEST_CASE("a lost worker's successor is waited for as long as those of the start") {
  World world({cell(0)}, {.workers = 1, .hello_grace = seconds(10)});
  world.join(1);
  world.pass(seconds(30));
  world.kill(1, /*replaced=*/true);
  CHECK_FALSE(world.dispatcher.finished());
  world.pass(seconds(9));
  CHECK_FALSE(world.dispatcher.finished());
  SECTION("it gets the cell") {
    world.join(2);
    CHECK(world.cell_of(2) == 0);
  }
  SECTION("or the cell is left") {
    world.pass(seconds(2));
    CHECK(world.dispatcher.finished());
    CHECK(world.left(0) == Why::workers_lost);
  }
  SECTION("or it is lost, too, before its hello") {
    world.kill(2);
    CHECK(world.dispatcher.finished());
    CHECK(world.left(0) == Why::workers_lost);
  }
  SECTION("a drain does not wait for it") {
    world.drain();
    CHECK(world.dispatcher.finished());
    CHECK(world.left(0) == Why::drained);
  }
}

TEST_CASE("a worker of another backend gets nothing") {
  Dispatcher dispatcher({cell(0)}, {.backend = "cuda", .workers = 1});
  const auto commands = dispatcher.on(
      Letter<worker::Hello>{1, {.host = "n1", .memory_gib = 10, .backend = "sim"}}, Nanos{0});
  REQUIRE(commands.size() == 1);
  CHECK(std::holds_alternative<Letter<worker::Stop>>(commands[0]));
  CHECK(dispatcher.left()[0].why == Why::no_worker);
}

// Failures -----------------------------------------------------------------------------------

TEST_CASE("a failed cell is tried once more, on another worker where there is one") {
  World world({cell(0)}, {.workers = 2});
  world.join(1);
  world.join(2);
  REQUIRE(world.cell_of(1) == 0);
  world.fail(1);
  REQUIRE(world.cell_of(2) == 0);
  CHECK(world.attempt_of(2) == 2);
  SECTION("it may succeed there") {
    world.done(2);
    CHECK(world.fate(0) == "done");
  }
  SECTION("or fails for good") {
    world.fail(2);
    CHECK(world.fate(0) == "failed");
    CHECK(world.reason(0) == "broke");
  }
  CHECK(world.dispatcher.finished());
}

TEST_CASE("the second try waits for the other worker while that is busy") {
  World world({cell(0, 5), cell(1, 9)}, {.workers = 2});
  world.join(1);
  world.join(2);
  REQUIRE(world.cell_of(2) == 0);
  world.fail(2);
  CHECK_FALSE(world.cell_of(2));
  world.done(1);
  CHECK(world.cell_of(1) == 0);
}

TEST_CASE("with one worker, or none other able to, the second try is where the first was") {
  World world({cell(0)}, {.workers = 2});
  world.join(1, "h100-80gb");
  world.join(2, "a100-40gb");
  world.fail(1);
  CHECK(world.cell_of(1) == 0);
}

TEST_CASE("attempts go on counting from earlier runs") {
  World world({{.cell = 0, .sku = "h100-80gb", .attempts = 3}}, {.workers = 1});
  world.join(1);
  CHECK(world.attempt_of(1) == 4);
}

TEST_CASE("a verdict other than failed is final") {
  World world({cell(0)}, {.workers = 1});
  world.join(1);
  world.fail(1, sweep::CellStatus::infeasible);
  CHECK(world.fate(0) == "infeasible");
}

TEST_CASE("a poisoned worker takes no more cells, its cell goes elsewhere") {
  World world({cell(0, 9), cell(1, 5), cell(2, 1)}, {.workers = 2});
  world.join(1);
  world.join(2);
  world.poison(1);
  world.done(2);
  CHECK(world.cell_of(2) == 0);
  world.done(2);
  CHECK(world.cell_of(2) == 2);
  CHECK_FALSE(world.cell_of(1));
}

TEST_CASE("when the last worker is poisoned, the rest is left") {
  World world({cell(0), cell(1)}, {.workers = 1});
  world.join(1);
  world.poison(1);
  CHECK(world.dispatcher.finished());
  CHECK(world.left(0) == Why::workers_lost);
  CHECK(world.left(1) == Why::workers_lost);
}

TEST_CASE("a cell whose process died twice before is quarantined and never starts") {
  World world({{.cell = 0, .sku = "h100-80gb", .attempts = 2, .deaths = 2},
               {.cell = 1, .sku = "h100-80gb", .attempts = 1, .deaths = 1}},
              {.workers = 1});
  world.join(1);
  CHECK(world.fate(0) == "quarantined");
  CHECK(world.reason(0) == "killed its process 2 times");
  CHECK(world.last_attempt(0) == 2);
  CHECK(world.cell_of(1) == 1);
}

TEST_CASE("a loss counts as a death only for the one cell that was running") {
  World world(
      {{.cell = 0, .sku = "h100-80gb", .estimate_s = 9, .attempts = 1, .deaths = 1}, cell(1)},
      {.workers = 2});
  world.join(1);
  world.join(2);
  REQUIRE(world.cell_of(1) == 0);
  SECTION("two were running: it is tried again") {
    world.kill(1);
    CHECK(world.fate(0).empty());
    world.done(2);
    CHECK(world.cell_of(2) == 0);
  }
  SECTION("both are lost at once: it is tried again") {
    world.kill(2, /*replaced=*/true);
    world.kill(1, /*replaced=*/true);
    CHECK(world.fate(0).empty());
    world.join(3);
    CHECK(world.cell_of(3) == 0);
  }
  SECTION("it was alone: quarantined") {
    world.done(2);
    world.kill(1);
    CHECK(world.fate(0) == "quarantined");
    CHECK_THAT(world.reason(0), Contains("killed its process 2 times"));
  }
}

TEST_CASE("a lost process frees its node's memory") {
  World world({big_cell(0, 150, 9), big_cell(1, 150, 5)}, {.workers = 2});
  world.join(1, "", "n1", 200);
  world.join(2, "", "n1", 200);
  REQUIRE(world.busy() == std::vector{1});
  world.kill(1);
  CHECK(world.busy() == std::vector{2});
}

TEST_CASE("small neighbors in the plan are assigned together, and each worker gets its part") {
  World world({cell(0, 9), cell(1, 2), cell(2, 2), cell(3, 2), cell(4, 2), cell(5, 2), cell(6, 2)},
              {.workers = 2, .together = seconds(5)});
  world.join(1);
  world.join(2);
  CHECK(world.cells_of(1) == std::vector{0});
  CHECK(world.cells_of(2) == std::vector{1, 2});
  world.done(2);
  CHECK(world.fate(1) == "done");
  CHECK(world.fate(2) == "done");
  world.done(1);
  while (!world.busy().empty()) world.done(world.busy().front());
  world.check_end();
}

TEST_CASE("cells that shared an attempt without a result are tried again alone, none is to blame") {
  World world({cell(0), cell(1), cell(2), cell(3)}, {.workers = 1, .together = seconds(60)});
  world.join(1);
  REQUIRE(world.cells_of(1) == std::vector{0, 1, 2, 3});
  SECTION("the attempt failed") { world.fail(1); }
  SECTION("the machine did") { world.fault_machine(1); }
  SECTION("one of them crashed its process") {
    world.join(2);
    world.kill(1);
  }
  const int worker = world.busy().front();
  for (const int each : {0, 1, 2, 3}) {
    REQUIRE(world.cells_of(worker) == std::vector{each});
    CHECK(world.attempt_of(worker) == 1);
    if (each == 1) {  // it fails as often as if it had never shared one
      world.fail(worker);
      CHECK(world.cells_of(worker) == std::vector{1});
      world.fail(worker);
      CHECK(world.fate(1) == "failed");
    } else {
      world.done(worker);
    }
  }
  world.check_end();
}
