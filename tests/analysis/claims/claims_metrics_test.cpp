#include "analysis/claims/metrics.hpp"

#include <cmath>

#include "tests/analysis/archived_cells.hpp"
#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"

namespace {

/// Cells of one repeat with tables that were written by hand.
struct Tables {
  HandMadeCell& add() {
    archive.add({{"policy", text("fcfs")}, {"jps", whole(1 + static_cast<int>(made.size()))}}, 40);
    return made.emplace_back();
  }
  double operator()(const std::string& metric) const {
    auto cells = archive.cells();
    std::vector<const analysis::ConfiguredCell*> pointers;
    for (auto& cell : cells) {
      pointers.push_back(&cell);
      cell.load = [&](std::string_view table) {
        const sweep::CellResult result =
            made[static_cast<std::size_t>(cell.record->index)].result();
        for (const sweep::Table* each : result.tables())
          if (each->name == table) return *each;
        throw std::logic_error("no such table");
      };
    }
    return claim_metric(metric, pointers);
  }

  ArchivedCells archive;
  std::deque<HandMadeCell> made;
};

/// A turn that took so long.
sweep::TurnRow& turn(HandMadeCell& cell, std::int32_t job, std::int32_t number, double latency_s) {
  return cell.turn(job, number, 10.0 * number, 10.0 * number + latency_s);
}

}  // namespace

TEST_CASE("a figure is the mean over the cells, or their sum", "[claims]") {
  Tables tables;
  tables.add();
  tables.add();
  CHECK(tables("jct_wall_mean_s") == Approx(40));
  CHECK(tables("sum:jct_wall_mean_s") == Approx(80));
  CHECK(std::isnan(tables("no_such_figure")));
}

TEST_CASE("a tool's share is its share of all turns, including those without a call", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  turn(cell, 0, 0, 2).tool = "grep";
  turn(cell, 0, 1, 2).tool = "submit";
  turn(cell, 1, 0, 2).tool = "grep";
  turn(cell, 1, 1, 2);
  CHECK(tables("tool_share:grep") == Approx(0.5));
  CHECK(tables("tool_share:submit") == Approx(0.25));
  CHECK(tables("tool_share:cd") == 0);
}

TEST_CASE("turns are counted from one, over all jobs", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  turn(cell, 0, 0, 2);
  turn(cell, 1, 0, 4);
  turn(cell, 0, 1, 9);
  CHECK(tables("turn_latency_s:1") == Approx(3));
  CHECK(tables("turn_latency_s:2") == Approx(9));
  CHECK(tables("turn_growth:2:1") == Approx(3));
  CHECK(std::isnan(tables("turn_latency_s:3")));
}

TEST_CASE("a returning turn can find the whole blocks that the turn before left", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  sweep::TurnRow& first = turn(cell, 0, 0, 1);
  first.prompt_tok = 100;
  first.output_tok = 28;  // 127 tokens have KV: 7 whole blocks
  sweep::TurnRow& second = turn(cell, 0, 1, 1);
  second.prompt_tok = 150;
  second.cached_gpu_tok = 80;
  second.cached_host_tok = 16;
  CHECK(tables("next_turn_hit") == Approx(96.0 / 112));
  CHECK(tables("new_tok:min") == 54);
}

TEST_CASE("hits beyond the turn before, on other jobs' prefixes, do not count", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  turn(cell, 0, 0, 1).prompt_tok = 16;
  cell.turns.back().output_tok = 1;
  turn(cell, 0, 1, 1).cached_gpu_tok = 1600;
  CHECK(tables("next_turn_hit") == Approx(1));
}

TEST_CASE("steps of a turn are those that computed something for it", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  turn(cell, 0, 0, 1).output_tok = 3;
  for (int step = 0; step < 3; ++step) {
    cell.step(step, 1, 0);
    cell.schedule(0, 0, sweep::SchedKind::running);
  }
  CHECK(tables("steps_beyond_output:min") == 0);
  cell.step(3, 1, 0);
  cell.schedule(0, 0, sweep::SchedKind::preempted, 0);
  CHECK(tables("steps_beyond_output:min") == 0);
  cell.step(4, 1, 0);
  cell.schedule(0, 0, sweep::SchedKind::resumed, 9);
  CHECK(tables("steps_beyond_output:min") == 1);
}

TEST_CASE("step durations are fitted over all cells together", "[claims]") {
  Tables tables;
  for (int cell = 0; cell < 2; ++cell) {
    HandMadeCell& made = tables.add();
    for (int i = 0; i < 4; ++i) {
      sweep::StepRow& step = made.step(i, 1, 0);
      step.max_tok = 100 * (2 * i + cell);
      step.dur_s = 0.02 + 3e-5 * step.max_tok;
    }
  }
  CHECK(tables("slope_us:max_tok") == Approx(30));
  CHECK(tables("intercept_ms:max_tok") == Approx(20));
  CHECK(tables("r2:max_tok") == Approx(1));
}

TEST_CASE("shares, means, modes and peaks are over steps", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  for (const int tokens : {1, 4, 1, 64, 2048, 2048, 700, 1}) {
    sweep::StepRow& step = cell.step(0, 1, 0);
    step.max_tok = tokens;
    step.n_prefill_tok = tokens > 4 ? tokens : 0;
    step.n_tok = tokens;
  }
  CHECK(tables("step_share:max_tok_upto:4") == Approx(0.5));
  CHECK(tables("step_share:prefill") == Approx(0.5));
  CHECK(tables("step_mode:max_tok_from:64") == 2048);
  CHECK(tables("step_mean:n_tok") == Approx(4867.0 / 8));
  CHECK(tables("step_max:n_tok") == 2048);
}

TEST_CASE("the copy rate is over the time from the first step to the last", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  cell.step(10, 1, 0).h2d_bytes = 3'000'000'000;
  cell.step(13, 1, 0).h2d_bytes = 5'000'000'000;
  CHECK(tables("h2d_gb_per_s") == Approx(2));  // 4 s
}

TEST_CASE("pins are compared with the decisions that could have gone either way", "[claims]") {
  Tables tables;
  HandMadeCell& cell = tables.add();
  CHECK(std::isnan(tables("pin_share")));
  cell.step(0, 1, 0);
  cell.event(1, 0, sweep::KvEventKind::pin);
  for (const auto reason : {sweep::KvReason::slow_tool, sweep::KvReason::no_tool,
                            sweep::KvReason::last_turn, sweep::KvReason::slow_tool})
    cell.event(1, 0, sweep::KvEventKind::keep_declined).reason = reason;
  CHECK(tables("pin_share") == Approx(0.25));
}

TEST_CASE("a metric of no known form is refused", "[claims]") {
  Tables tables;
  tables.add();
  CHECK_THROWS_WITH(tables("turn_latency_s:first"),
                    Catch::Matchers::Contains("must have a number"));
  CHECK_THROWS_WITH(tables("luck:7:7"),
                    Catch::Matchers::Contains("no metric of claims has the form luck:7:7"));
}
