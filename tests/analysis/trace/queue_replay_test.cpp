#include "analysis/trace/replay.hpp"

#include <functional>
#include <stdexcept>

#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"

using namespace analysis;
using sweep::SchedKind;

namespace {

using Names = std::vector<std::string>;

struct Moment {
  Names running, waiting;
};

std::vector<Moment> replay(const HandMadeCell& cell, bool logged = false) {
  sweep::CellResult result = cell.result();
  if (logged) result.notes.push_back({"server_steps", "logged"});
  const TurnNames names(result);
  const auto named = [&](const QueueReplay::Requests& requests) {
    Names list;
    for (const std::size_t turn : requests) list.push_back(names.request_of_row(turn));
    return list;
  };
  QueueReplay queues(result, names);
  std::vector<Moment> moments;
  while (queues.next()) moments.push_back({named(queues.running()), named(queues.waiting())});
  return moments;
}

std::string complaint(const HandMadeCell& cell) {
  try {
    replay(cell);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "no error";
}

/// One job that arrives while a wall clock passes from the end of step 1 to the start of step 2.
HandMadeCell late_arrival(std::int32_t waiting_in_step_2) {
  HandMadeCell cell;
  cell.job("a");
  cell.job("b");
  cell.turn(0, 0, 0, 4);
  cell.turn(1, 0, 1.001, 4);
  cell.step(0, 1, 0);
  cell.schedule(0, 0, SchedKind::fresh);
  cell.step(1.002, 1, waiting_in_step_2);
  cell.schedule(0, 0, SchedKind::running);
  cell.step(3, 2, 0);
  cell.schedule(0, 0, SchedKind::running);
  cell.schedule(1, 0, SchedKind::fresh);
  return cell;
}

}  // namespace

TEST_CASE("requests run in the order of their latest admission") {
  const auto moments = replay(three_jobs());
  REQUIRE(moments.size() == 5);
  CHECK(moments[0].running == Names{"astropy__astropy-12907:0"});
  CHECK(moments[1].running == Names{"astropy__astropy-12907:0", "b:0"});
  CHECK(moments[3].running == Names{"b:0", "c:0"});
  CHECK(moments[4].running == Names{"b:0", "c:0", "astropy__astropy-12907:1"});
}

TEST_CASE("a preempted request waits in front of those that arrived") {
  const auto moments = replay(three_jobs());
  CHECK(moments[2].running == Names{"astropy__astropy-12907:0"});
  CHECK(moments[2].waiting == Names{"b:0", "c:0"});
}

TEST_CASE("a request without a share of the step keeps running") {
  HandMadeCell cell = three_jobs();
  std::erase_if(cell.sched,
                [](const sweep::SchedRow& row) { return row.step == 2 && row.job == 0; });
  CHECK(replay(cell)[1].running == Names{"astropy__astropy-12907:0", "b:0"});
}

TEST_CASE("numbers of running or waiting requests that contradict the schedule are refused") {
  HandMadeCell cell = three_jobs();
  cell.steps[3].n_running = 3;
  CHECK(complaint(cell) == "step 4: n_running is 3, but sched and turns give 2");
  cell = three_jobs();
  cell.steps[2].n_waiting = 1;
  CHECK(complaint(cell) == "step 3: n_waiting + n_loading is 1, but sched and turns give 2");
}

TEST_CASE("a schedule of missing requests is refused") {
  HandMadeCell cell = three_jobs();
  cell.sched[0].kind = SchedKind::running;
  CHECK(complaint(cell) ==
        "step 1: sched says that request astropy__astropy-12907:0 ran before it, which it did "
        "not");
  cell = three_jobs();
  cell.sched[0].job = 9;
  CHECK(complaint(cell) == "sched names turn 0 of job 9, which turns lacks");
  cell = three_jobs();
  cell.steps.pop_back();
  CHECK(complaint(cell) == "sched goes on after the last step");
  cell = three_jobs();
  cell.turns.push_back(cell.turns[0]);
  CHECK(complaint(cell) == "turns holds turn 0 of job 0 twice");
}

TEST_CASE("an arrival between two steps was seen by the later step or not, as its counts say") {
  CHECK(replay(late_arrival(0))[1].waiting.empty());
  CHECK(replay(late_arrival(1))[1].waiting == Names{"b:0"});
  CHECK(complaint(late_arrival(2)) ==
        "step 2: n_waiting + n_loading is 2, but sched and turns give 1");
}

TEST_CASE("a server may schedule the later of two turns first that were sent within a moment") {
  HandMadeCell cell;
  for (const char* job : {"a", "b", "c"}) cell.job(job);
  cell.turn(0, 0, 1.001, 4);
  cell.turn(1, 0, 1.0015, 4);
  cell.turn(2, 0, 0, 4);
  cell.step(0, 1, 0);
  cell.schedule(2, 0, SchedKind::fresh);
  cell.step(1.002, 2, 0);
  cell.schedule(2, 0, SchedKind::running);
  cell.schedule(1, 0, SchedKind::fresh);
  cell.step(3, 2, 0);
  cell.schedule(1, 0, SchedKind::running);
  cell.schedule(0, 0, SchedKind::fresh);
  CHECK(complaint(cell) ==
        "step 2: sched says that request b:0 waited before it, which it did not");
  CHECK(replay(cell, true)[1].running == Names{"c:0", "b:0"});
  CHECK(replay(cell, true)[2].running == Names{"b:0", "a:0"});
}

TEST_CASE("a cell without steps has nothing to replay") { CHECK(replay({}).empty()); }

TEST_CASE("pins count from the step after the one whose end made them") {
  const sweep::CellResult result = three_jobs().result();
  KvReplay kv(result);
  kv.advance_to(2);
  CHECK(kv.pinned_jobs().empty());
  kv.advance_to(3);
  CHECK(kv.pinned_jobs() == std::set<std::int32_t>{0});
  kv.advance_to(4);
  CHECK(kv.pinned_jobs().empty());
}

TEST_CASE("a number of pins that contradicts the events is refused") {
  HandMadeCell cell = three_jobs();
  cell.steps[4].pinned_jobs = 1;
  const sweep::CellResult result = cell.result();
  KvReplay kv(result);
  CHECK_NOTHROW(kv.advance_to(3));
  CHECK_THROWS_AS(kv.advance_to(4), std::logic_error);
}

TEST_CASE("a request whose KV is being loaded waits, though it is counted by itself") {
  HandMadeCell cell = late_arrival(0);
  cell.steps[1].n_loading = 1;
  CHECK(replay(cell)[1].waiting == Names{"b:0"});
}
