#include "driver/dispatcher.hpp"

#include "tests/driver/dispatcher_world.hpp"
#include "tests/support/catch.hpp"

using namespace driver;
using driver_test::World;
using std::chrono::seconds;
using Why = LeftCell::Why;
using Catch::Matchers::Contains;

namespace {

CellTask cell(int index, double estimate_s = 1, const std::string& sku = "h100-80gb") {
  return {.cell = index, .sku = sku, .estimate_s = estimate_s};
}
CellTask big_cell(int index, double host_gib, double estimate_s = 1) {
  return {.cell = index, .sku = "h100-80gb", .estimate_s = estimate_s, .host_gib = host_gib};
}

}  // namespace

TEST_CASE("the longest expected cell goes first, equals in plan order, unknown ones last") {
  World world({cell(0, 1), cell(1, 0), cell(2, 5), cell(3, 1), cell(4, 9)}, {.workers = 1});
  world.join(1);
  while (world.cell_of(1)) world.done(1);
  CHECK(world.started() == std::vector{4, 2, 0, 3, 1});
  CHECK(world.dispatcher.finished());
  world.check_end();
}

TEST_CASE("a worker takes only cells of the SKU that it is") {
  World world({cell(0, 9, "a100-40gb"), cell(1, 1, "h100-80gb")}, {.workers = 2});
  world.join(1, "h100-80gb");
  CHECK(world.cell_of(1) == 1);
  world.join(2, "a100-40gb");
  CHECK(world.cell_of(2) == 0);
}

TEST_CASE("a worker that is no SKU plays any") {
  World world({cell(0, 9, "a100-40gb"), cell(1, 1, "h100-80gb")}, {.workers = 1});
  world.join(1);
  CHECK(world.cell_of(1) == 0);
  world.done(1);
  CHECK(world.cell_of(1) == 1);
}

TEST_CASE("cells of a SKU that no worker has are left, with both names, and the others run") {
  World world({cell(0, 1, "a100-40gb"), cell(1, 1, "h100-80gb")}, {.workers = 1});
  world.join(1, "h100-80gb");
  CHECK(world.dispatcher.missing_skus() == std::vector<std::string>{"a100-40gb"});
  world.done(1);
  CHECK(world.dispatcher.finished());
  REQUIRE(world.dispatcher.left().size() == 1);
  CHECK(world.left(0) == Why::no_worker);
  CHECK(world.dispatcher.left()[0].reason ==
        "no sim worker is a a100-40gb; the workers are: h100-80gb");
  CHECK(world.started() == std::vector{1});
}

TEST_CASE("nothing is called missing before every worker has said what it is") {
  World world({cell(0, 1, "a100-40gb")}, {.workers = 2, .hello_grace = seconds(10)});
  world.join(1, "h100-80gb");
  world.pass(seconds(5));
  CHECK_FALSE(world.dispatcher.finished());
  CHECK(world.dispatcher.missing_skus().empty());
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

TEST_CASE("a worker of another backend gets nothing") {
  Dispatcher dispatcher({cell(0)}, {.backend = "cuda", .workers = 1});
  const auto commands = dispatcher.on(WorkerJoined{1, {"", "n1", 10, "sim"}}, Nanos{0});
  REQUIRE(commands.size() == 1);
  CHECK(std::holds_alternative<StopWorker>(commands[0]));
  CHECK(dispatcher.left()[0].why == Why::no_worker);
}

// Host memory --------------------------------------------------------------------------------

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
    "a blocked big cell reserves: small ones run beside it, but do not overtake it for ever") {
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

TEST_CASE("a reserving cell starts although small ones would keep the node full for ever") {
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

TEST_CASE("a cell that has reserved comes before a longer one that waits again") {
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

TEST_CASE("a reservation goes with the worker that would have used it") {
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

TEST_CASE("workers of a node that disagree about its memory share the least") {
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

// Failures -----------------------------------------------------------------------------------

TEST_CASE("a failed cell is tried once more, on another worker where there is one") {
  World world({cell(0)}, {.workers = 2});
  world.join(1);
  world.join(2);
  REQUIRE(world.cell_of(1) == 0);
  world.fail(1);
  REQUIRE(world.cell_of(2) == 0);
  CHECK(world.attempt_of(2) == 2);
  SECTION("and may succeed there") {
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

// Silence and time limits --------------------------------------------------------------------

TEST_CASE("a busy worker that falls silent is lost, one that heartbeats is not") {
  World world({cell(0, 5), cell(1, 4)}, {.workers = 2, .silence = seconds(60)});
  world.join(1);
  world.join(2);
  world.pass(seconds(59), {1});
  CHECK(world.dispatcher.expects(1, 0, 1));
  world.pass(seconds(3), {1});
  CHECK_FALSE(world.dispatcher.expects(1, 0, 1));
  CHECK(world.dispatcher.expects(2, 1, 1));
}

TEST_CASE("a pause of the driver itself is no silence of the workers") {
  World world({cell(0)}, {.workers = 1, .silence = seconds(60)});
  world.join(1);
  world.now += seconds(1000);  // no tick in between: nobody listened
  world.on(Tick{});
  CHECK(world.dispatcher.expects(1, 0, 1));
}

TEST_CASE(
    "the node memory of a silent worker stays taken until it answers, then it is used again") {
  World world({big_cell(0, 150, 9), big_cell(1, 150, 5)}, {.workers = 2, .silence = seconds(10)});
  world.join(1, "", "n1", 200);
  world.join(2, "", "n1", 200);
  world.heard(1);
  const auto silent = [&] { world.pass(seconds(12), {1}); };
  REQUIRE(world.cell_of(1) == 0);
  SECTION("it never answers: nothing can run, and everything is left with that reason") {
    silent();
    CHECK(world.dispatcher.finished());
    CHECK(world.left(0) == Why::workers_lost);
    CHECK(world.started().size() == 1);
  }
}

TEST_CASE("a worker that was given up and answers is used again, its late result is not") {
  World world({cell(0, 9), cell(1, 5), cell(2, 1)}, {.workers = 2, .silence = seconds(10)});
  world.join(1);
  world.join(2);
  world.pass(seconds(12), {1});
  CHECK_FALSE(world.dispatcher.expects(1, 0, 1));
  world.done(1);  // the World would count a second result; the dispatcher did not expect it
  CHECK(world.fate(0).empty());
  CHECK(world.cell_of(1) == 2);
  world.done(2);
  CHECK(world.cell_of(2) == 0);  // its second attempt
}

TEST_CASE("a cell that runs longer than the cell timeout is abandoned and recorded as such") {
  World world({cell(0, 9), cell(1, 1)}, {.workers = 1, .cell_timeout = seconds(30)});
  world.join(1);
  world.pass(seconds(30));
  CHECK_FALSE(world.asked_to_abandon(1));
  world.pass(seconds(1));
  REQUIRE(world.asked_to_abandon(1));
  SECTION("it stops") {
    world.abandoned(1);
    CHECK(world.fate(0) == "timeout");
    CHECK(world.reason(0) == "ran longer than 30 s");
    CHECK(world.cell_of(1) == 1);
  }
  SECTION("it finishes after all: then it has") {
    world.done(1);
    CHECK(world.fate(0) == "done");
  }
  SECTION("it does not answer: its worker is lost") {
    world.pass(seconds(31));
    CHECK(world.fate(0) == "timeout");
    CHECK(world.dispatcher.finished());
    CHECK(world.left(1) == Why::workers_lost);
  }
}

TEST_CASE("a drain starts nothing more, and running cells end") {
  World world({cell(0, 9), cell(1, 1)}, {.workers = 1});
  world.join(1);
  world.drain();
  CHECK_FALSE(world.asked_to_abandon(1));
  world.done(1);
  CHECK(world.fate(0) == "done");
  CHECK(world.dispatcher.finished());
  CHECK(world.left(1) == Why::drained);
}

TEST_CASE("a drain abandons what cannot end before the limit less the margin") {
  World world({cell(0, 100), cell(1, 60)},
              {.workers = 2, .deadline = seconds(200), .margin = seconds(90)});
  world.join(1);
  world.join(2);
  world.pass(seconds(20));
  SECTION("both can: 100 s from the start, and 110 s are the limit") {
    world.drain();
    CHECK_FALSE(world.asked_to_abandon(1));
    CHECK_FALSE(world.asked_to_abandon(2));
  }
  SECTION("one has overrun its estimate: it may end any time, until the margin begins") {
    world.pass(seconds(85));
    world.drain();
    CHECK_FALSE(world.asked_to_abandon(1));
    world.pass(seconds(5));
    CHECK(world.asked_to_abandon(1));
    CHECK(world.asked_to_abandon(2));
    world.abandoned(1);
    world.abandoned(2);
    CHECK(world.dispatcher.finished());
    CHECK(world.left(0) == Why::drained);
  }
}

TEST_CASE("a cell that was abandoned in a drain stays planned, whatever it answers") {
  World world({cell(0)}, {.workers = 1});
  world.join(1);
  world.stop_now();
  REQUIRE(world.asked_to_abandon(1));
  SECTION("it stops") { world.abandoned(1); }
  SECTION("it fails on its way out") { world.fail(1); }
  SECTION("it does not answer") { world.pass(seconds(31)); }
  CHECK(world.dispatcher.finished());
  CHECK(world.fate(0).empty());
  CHECK(world.left(0) == Why::drained);
}

TEST_CASE("a second signal abandons what the first let run") {
  World world({cell(0, 1)}, {.workers = 1});
  world.join(1);
  world.drain();
  CHECK_FALSE(world.asked_to_abandon(1));
  world.stop_now();
  CHECK(world.asked_to_abandon(1));
}

TEST_CASE("a drain before any worker came ends at once") {
  World world({cell(0)}, {.workers = 3});
  world.drain();
  CHECK(world.dispatcher.finished());
  CHECK(world.left(0) == Why::drained);
}

TEST_CASE("no cell starts that cannot end before the limit less the margin; shorter ones do") {
  World world({cell(0, 20), cell(1, 5), cell(2, 11)},
              {.workers = 1, .deadline = seconds(100), .margin = seconds(90)});
  world.join(1);
  CHECK(world.cell_of(1) == 1);
  world.pass(seconds(5));
  world.done(1);
  CHECK(world.dispatcher.finished());
  CHECK(world.left(0) == Why::no_time);
  CHECK(world.left(2) == Why::no_time);
}

TEST_CASE("a reservation for a cell that has run out of time does not hold up others") {
  World world({big_cell(0, 150, 40), big_cell(1, 100, 45), big_cell(2, 90, 3)},
              {.workers = 2, .deadline = seconds(140), .margin = seconds(90)});
  world.join(1, "", "n1", 200);
  REQUIRE(world.cell_of(1) == 1);
  world.join(2, "", "n1", 200);
  CHECK_FALSE(world.cell_of(2));  // 0 reserves 150 of 200 GiB
  world.pass(seconds(11));        // 0 can no longer end in time
  CHECK(world.cell_of(2) == 2);
}

// What it says about itself ------------------------------------------------------------------

TEST_CASE("the time left follows the estimates, corrected by what finished cells took") {
  World world({cell(0, 10), cell(1, 10), cell(2, 10), cell(3, 10)}, {.workers = 1});
  world.join(1);
  const auto eta_s = [&] { return world.dispatcher.status(world.now).at(0).eta_s; };
  CHECK(eta_s().value() == Approx(40));
  world.pass(seconds(4));
  CHECK(eta_s().value() == Approx(36));
  world.pass(seconds(16));
  world.done(1);  // 20 s instead of 10
  const SkuStatus status = world.dispatcher.status(world.now).at(0);
  CHECK(status.sku == "h100-80gb");
  CHECK(status.over == 1);
  CHECK(status.running == 1);
  CHECK(status.waiting == 2);
  CHECK(status.workers == 1);
  CHECK(status.eta_s.value() == Approx(60));
}

TEST_CASE("without estimates the time left is unknown until a cell has finished") {
  World world({cell(0, 0), cell(1, 0), cell(2, 0)}, {.workers = 1});
  world.join(1);
  CHECK_FALSE(world.dispatcher.status(world.now).at(0).eta_s);
  world.pass(seconds(7));
  world.done(1);
  CHECK(world.dispatcher.status(world.now).at(0).eta_s.value() == Approx(14));
}
