#include "driver/farm/dispatcher.hpp"

#include "tests/driver/farm/dispatcher_world.hpp"
#include "tests/support/catch.hpp"

using namespace driver;
using driver_test::big_cell;
using driver_test::cell;
using driver_test::World;
using std::chrono::seconds;
using Why = LeftCell::Why;

TEST_CASE("a busy worker that falls silent is lost, one that heartbeats is not") {
  World world({cell(0, 5), cell(1, 4)}, {.workers = 2, .silence = seconds(60)});
  world.join(1);
  world.join(2);
  world.pass(seconds(59), {1});
  CHECK(world.dispatcher.expects(1, {0, 1}));
  world.pass(seconds(3), {1});
  CHECK_FALSE(world.dispatcher.expects(1, {0, 1}));
  CHECK(world.dispatcher.expects(2, {1, 1}));
}

TEST_CASE("a cell whose workers fall silent, one after the other, has not failed") {
  World world({cell(0, 9), cell(1, 8), cell(2, 7)}, {.workers = 3, .silence = seconds(60)});
  for (const int worker : {1, 2, 3}) world.join(worker);
  world.pass(seconds(62), {1});
  world.done(3);
  REQUIRE(world.cell_of(3) == 0);
  world.pass(seconds(62), {1, 3});
  world.done(2);
  CHECK(world.fate(0).empty());
  CHECK(world.left(0) == Why::machine_fault);
}

TEST_CASE("a pause of the driver does not count as silence of the workers") {
  World world({cell(0)}, {.workers = 1, .silence = seconds(60)});
  world.join(1);
  world.now += seconds(1000);  // no tick in between: the driver slept
  world.on(Tick{});
  CHECK(world.dispatcher.expects(1, {0, 1}));
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
  CHECK_FALSE(world.dispatcher.expects(1, {0, 1}));
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

TEST_CASE("a cell that makes no progress for ten minutes is ended, tried once more, then failed") {
  World world({cell(0, 9)}, {.workers = 1});
  world.join(1);
  for (int attempt = 1; attempt <= 2; ++attempt) {
    CHECK(world.attempt_of(1) == attempt);
    world.pass(seconds(1));
    world.pass(seconds(599), {}, {1});
    CHECK_FALSE(world.asked_to_abandon(1));
    world.pass(seconds(2), {}, {1});
    REQUIRE(world.asked_to_abandon(1));
    world.abandoned(1);
  }
  CHECK(world.fate(0) == "failed");
  CHECK(world.reason(0) == "made no progress for 600 s");
}

TEST_CASE("a cell that makes progress may last for days") {
  World world({cell(0, 9)}, {.workers = 1});
  world.join(1);
  for (int i = 0; i < 500; ++i) {
    world.pass(seconds(599), {}, {1});
    world.pass(seconds(1));
  }
  CHECK_FALSE(world.asked_to_abandon(1));
}

TEST_CASE("before and after its steps a cell may show no progress for an hour") {
  World world({cell(0, 9)}, {.workers = 1});
  world.join(1);
  SECTION("weights are loaded") {}
  SECTION("tables are written") {
    world.pass(seconds(5));
    world.heard(1, true, false);
  }
  world.pass(seconds(3600), {}, {1});
  CHECK_FALSE(world.asked_to_abandon(1));
  world.pass(seconds(1), {}, {1});
  CHECK(world.asked_to_abandon(1));
}

TEST_CASE("a pause of the driver does not count as lack of progress") {
  World world({cell(0)}, {.workers = 1});
  world.join(1);
  world.pass(seconds(1));
  world.now += seconds(100'000);
  world.on(Tick{});
  CHECK_FALSE(world.asked_to_abandon(1));
}

TEST_CASE("a cell timeout replaces the rule of progress") {
  World world({cell(0)}, {.workers = 1, .cell_timeout = seconds(2000)});
  world.join(1);
  world.pass(seconds(1));
  world.pass(seconds(1999), {}, {1});
  CHECK_FALSE(world.asked_to_abandon(1));
  world.pass(seconds(1), {}, {1});
  CHECK(world.asked_to_abandon(1));
}

TEST_CASE("a stalled cell whose worker does not answer goes to another worker") {
  World world({cell(0, 9)}, {.workers = 2});
  world.join(1);
  world.join(2);
  world.pass(seconds(1));
  world.pass(seconds(601 + 31), {}, {1});
  CHECK(world.cell_of(2) == 0);
  world.done(2);
  CHECK(world.fate(0) == "done");
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
  const auto eta_s = [&] { return world.dispatcher.status(world.now).skus.at(0).eta_s; };
  CHECK(eta_s().value() == Approx(40));
  world.pass(seconds(4));
  CHECK(eta_s().value() == Approx(36));
  world.pass(seconds(16));
  world.done(1);  // 20 s instead of 10
  const SkuStatus status = world.dispatcher.status(world.now).skus.at(0);
  CHECK(status.sku == "h100-80gb");
  CHECK(status.over == 1);
  CHECK(status.running == 1);
  CHECK(status.waiting == 2);
  CHECK(status.workers == 1);
  CHECK(status.eta_s.value() == Approx(60));
}

TEST_CASE("the time left for a GPU without a finished cell is corrected by those of others") {
  World world({cell(0, 10, "a100-40gb"), cell(1, 5, "h100-80gb")}, {.workers = 1});
  world.join(1);
  const auto eta_s = [&](std::size_t sku) {
    return world.dispatcher.status(world.now).skus.at(sku).eta_s;
  };
  CHECK(eta_s(1).value() == Approx(5));
  world.pass(seconds(20));
  world.done(1);  // 20 s instead of 10
  CHECK(eta_s(0).value() == Approx(0));
  CHECK(eta_s(1).value() == Approx(10));
}

TEST_CASE("without estimates the time left is unknown until a cell has finished") {
  World world({cell(0, 0), cell(1, 0), cell(2, 0)}, {.workers = 1});
  world.join(1);
  CHECK_FALSE(world.dispatcher.status(world.now).skus.at(0).eta_s);
  world.pass(seconds(7));
  world.done(1);
  CHECK(world.dispatcher.status(world.now).skus.at(0).eta_s.value() == Approx(14));
}
