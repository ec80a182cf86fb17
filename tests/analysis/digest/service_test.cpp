
#include <stdexcept>

#include "analysis/digest/policy_acts.hpp"
#include "analysis/digest/service.hpp"
#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;

TEST_CASE("objectives are read by name, and what is none is refused with what is allowed") {
  CHECK(analysis::parse_goals("ttft=2,tpot=0.05").text() == "ttft <= 2 s, tpot <= 0.05 s");
  CHECK(analysis::parse_goals("jct=100").text() == "jct <= 100 s");
  for (const char* wrong : {"", "ttft", "ttft=", "ttft=-1", "ttft=2s", "speed=1", "ttft=1,"})
    CHECK_THROWS_WITH(analysis::parse_goals(wrong),
                      Contains("NAME=SECONDS of jct, ttft, tpot and queue"));
}

TEST_CASE("goodput counts the turns by second that meet every objective") {
  HandMadeCell cell;
  cell.job("a").jct_wall_s = 10;
  const auto turn = [&](double finish_s, double ttft_s, double tpot_s) {
    sweep::TurnRow& row = cell.turn(0, 0, 0, finish_s);
    row.ttft_s = ttft_s;
    row.tpot_s = tpot_s;
  };
  turn(1, 1.9, 0.04);
  turn(2, 2.1, 0.04);                  // first token late
  turn(4, 1, 0.06);                    // too slow
  turn(10, 2, sweep::kNotObserved);    // one token: nothing between tokens
  turn(sweep::kNotObserved, 1, 0.01);  // never finished
  const auto tables = cell.result();
  const auto service = [&](const std::string& goals) {
    return service_of(tables.jobs, tables.turns, analysis::parse_goals(goals));
  };
  CHECK(service("ttft=2,tpot=0.05").attained == Approx(0.4));
  CHECK(service("ttft=2,tpot=0.05").goodput_per_s == Approx(0.2));
  CHECK(service("jct=11").attained == Approx(0.8));
  CHECK(service("jct=9").attained == 0);
  CHECK(service("jct=9").percentiles_s[0][1] == 10);
  CHECK(service("jct=9").percentiles_s[1][0] == Approx(1.9));  // ttft, median
}

TEST_CASE("pins count as used if the job's next turn arrives while they last") {
  using Kind = sweep::KvEventKind;
  HandMadeCell cell;
  cell.job("a");
  cell.job("b");
  cell.step(0, 1, 0);
  cell.turn(0, 0, 0, 1);
  cell.turn(0, 1, 3, 4);  // arrives while its KV is pinned
  cell.turn(1, 0, 0, 1);
  cell.turn(1, 1, 9, 10);  // arrives after the pin
  cell.event(1, 0, Kind::pin);
  cell.event(1, 1, Kind::pin);
  cell.event(3, 1, Kind::unpin);
  cell.event(5, 0, Kind::unpin);
  cell.event(6, 1, Kind::evict_gpu).blocks = 7;
  sweep::KvEventRow& unread = cell.event(7, 1, Kind::evict_host);
  unread.blocks = 3;
  unread.reason = sweep::KvEventReason::unread;
  const auto tables = cell.result();
  const analysis::PolicyActs acts = acts_of(tables.turns, tables.kv_events);
  CHECK(acts.pins == 2);
  CHECK(acts.pins_used == 1);
  CHECK(acts.evicted_blocks == 7);
  CHECK(acts.host_evicted_blocks == 3);
}

TEST_CASE("a turn overtakes if it is admitted before one that arrived earlier") {
  HandMadeCell cell;
  cell.job("a");
  cell.turn(0, 0, 0, 9).t_admit_s = 5;
  cell.turn(0, 1, 1, 9).t_admit_s = 2;  // overtakes the first
  cell.turn(0, 2, 3, 9).t_admit_s = 6;
  cell.turn(0, 3, 4, 9).t_admit_s = 6;
  const auto tables = cell.result();
  CHECK(acts_of(tables.turns, tables.kv_events).overtaking == Approx(0.25));
}
