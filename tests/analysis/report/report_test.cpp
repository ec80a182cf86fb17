#include "analysis/report/report.hpp"
#include "analysis/compare/config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/analysis/archived_cells.hpp"
#include "tests/analysis/hand_made_cell.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using Catch::Matchers::Contains;
using namespace analysis;
using nlohmann::json;

namespace {

/// A report over cells of which nothing but the figures is known.
struct PaperReport {
  explicit PaperReport(const ArchivedCells& cells) {
    for (ConfiguredCell& cell : cells.cells()) report.cells.push_back(cell);
    const std::vector<RateRow> rows = arrange(with_results(report.cells));
    report.panels = make_panels(rows, {}, {}, {});
    report.regimes = regimes_of(rows, kAnswerFigure);
  }

  const Rated& jct(const std::string& variant, const std::string& jps = "1") const {
    for (const ReportGroup& group : report.panels.front().groups)
      if (group.variant == variant && group.jps == jps)
        return group.figures.find("jct_wall_mean_s")->second;
    throw std::runtime_error("no " + variant);
  }

  Report report;
};

ArchivedCells three_policies() {
  ArchivedCells cells;
  for (const int repeat : {0, 1, 2}) {
    cells.add({{"policy", text("fcfs")}}, 100 + repeat, 42 + repeat);
    cells.add({{"policy", text("continuum")}}, 50 + repeat, 42 + repeat);
    cells.add({{"policy", text("lmcache")}, {"dram_gib", whole(16)}}, 120 + repeat, 42 + repeat);
    cells.add({{"policy", text("lmcache")}, {"dram_gib", whole(128)}}, 40 + repeat, 42 + repeat);
  }
  return cells;
}

}  // namespace

TEST_CASE("a summary has the mean over repeats, its interval, the ratio to fcfs and the best",
          "[report]") {
  const PaperReport paper(three_policies());
  CHECK(paper.jct("continuum").mean.value == Approx(51));
  CHECK(paper.jct("continuum").over_fcfs.value ==
        Approx(std::cbrt(50.0 * 51 * 52 / 100 / 101 / 102)));
  CHECK(paper.jct("continuum").mean.interval.low == Approx(51 - 2.484));
  CHECK(paper.jct("continuum").mean.interval.high == Approx(51 + 2.484));
  CHECK(paper.jct("continuum").standing == "best with 16 GiB");
  CHECK(paper.jct("lmcache-128G").standing == "best");
}

TEST_CASE(
    "policies within one per cent tie, and those that repeats do not tell apart are undecided",
    "[report]") {
  ArchivedCells cells;
  for (const int repeat : {0, 1, 2, 3}) {
    const int seed = 42 + repeat, swing = repeat % 2 == 0 ? 8 : -8;
    cells.add({{"policy", text("fcfs")}}, 100, seed);
    cells.add({{"policy", text("continuum")}}, 100.5, seed);
    cells.add({{"policy", text("lmcache")}, {"dram_gib", whole(16)}}, 103 + swing, seed);
    cells.add({{"policy", text("lmcache")}, {"dram_gib", whole(128)}}, 103, seed);
  }
  const PaperReport paper(cells);
  CHECK(paper.jct("fcfs").standing == "tie");
  CHECK(paper.jct("continuum").standing == "tie");
  CHECK(paper.jct("lmcache-16G").standing == "undecided");
  CHECK(paper.jct("lmcache-128G").standing.empty());
  REQUIRE(paper.report.regimes.size() == 2);
  CHECK(paper.report.regimes[0].tied == std::vector<std::string>{"continuum"});
  CHECK(names_of(paper.report.regimes[0].undecided) == std::vector<std::string>{"lmcache-16G"});
  CHECK(paper.report.regimes[1].tied == std::vector<std::string>{"continuum"});
}

TEST_CASE("a single repeat wins by one per cent or more", "[report]") {
  ArchivedCells cells;
  cells.add({{"policy", text("fcfs")}}, 100);
  cells.add({{"policy", text("continuum")}}, 98.5);
  const PaperReport paper(cells);
  CHECK(paper.jct("continuum").standing == "best");
  CHECK(paper.report.regimes[0].tied.empty());
}

TEST_CASE("one repeat has no interval", "[report]") {
  ArchivedCells cells;
  cells.add({{"policy", text("fcfs")}}, 100);
  CHECK(std::isnan(PaperReport(cells).jct("fcfs").mean.interval.low));
}

TEST_CASE("numbers name the cells that they come from, by archive") {
  analysis::CellOrigins origins = {{"other", {"b.h5", 4}}};
  std::vector<std::string> keys = {"other", "unknown"};
  for (const int row : {6, 0, 1, 2, 5}) {
    keys.push_back(std::to_string(row));
    origins[keys.back()] = {"a.h5", row};
  }
  CHECK(analysis::named_cells({"2"}, origins) == "cell 2 of a.h5");
  CHECK(analysis::named_cells(keys, origins) == "cells 0 to 2, 5 and 6 of a.h5; cell 4 of b.h5");
}

TEST_CASE("a regime is decided among those that need no host memory and those with this much",
          "[report]") {
  const PaperReport paper(three_policies());
  REQUIRE(paper.report.regimes.size() == 2);
  const Regime &small = paper.report.regimes[0], &large = paper.report.regimes[1];
  CHECK(small.dram == "16");
  CHECK(small.winner == "continuum");
  CHECK(names_of(small.next) == std::vector<std::string>{"fcfs"});
  CHECK(small.next.front().over_winner.value - 1 ==
        Approx(std::cbrt(100.0 * 101 * 102 / 50 / 51 / 52) - 1));
  CHECK(large.winner == "lmcache-128G");
  CHECK(names_of(large.next) == std::vector<std::string>{"continuum"});
  CHECK(large.next.front().over_winner.interval.low > 1.2);
  CHECK(large.next.front().over_winner.interval.high < 1.3);
  CHECK(large.value.repeats == 3);
}

TEST_CASE("figures say whether they are modelled or measured, and with the pool of which card",
          "[report]") {
  ArchivedCells cells;
  cells.add({{"policy", text("fcfs")}, {"sim.cost_model", text("published")}}, 1);
  cells.add(
      {{"policy", text("fcfs")}, {"backend", text("cuda")}, {"engine.emulate", text("a100-40gb")}},
      1);
  const auto configured = cells.cells();
  CHECK(figures_kind(configured[0]) == "MODELLED (sim, published)");
  CHECK(figures_kind(configured[1]) == "MEASURED (cuda, pool of a100-40gb)");
}

TEST_CASE("the question of a sweep is the comment on top of its file", "[report]") {
  CHECK(question_of("# Which is best?\n#   And why?\nschema = 1\n# not this\n") ==
        "Which is best? And why?");
  CHECK(question_of("schema = 1\n").empty());
  CHECK(question_of("").empty());
  CHECK(question_of("# only a comment") == "only a comment");
}

TEST_CASE("a job's time splits into parts that add up to it", "[report]") {
  HandMadeCell cell;
  cell.job("a").jct_wall_s = 10;
  cell.job("unfinished");
  sweep::TurnRow& turn = cell.turn(0, 0, 0, 9);
  turn.queue_s = 1;
  turn.load_stall_s = 2;
  turn.recompute_s = 0.5;
  turn.prefill_s = 1.5;
  turn.decode_s = 3;
  turn.gap_s = 1;
  cell.turn(1, 0, 0, 5).queue_s = 100;
  const sweep::CellResult result = cell.result();
  const JobDigest digest = digest_jobs(result.jobs, result.turns);
  CHECK(digest.jct_s == std::vector<double>{10});
  CHECK(digest.part_s == std::array<double, 7>{1, 2, 0.5, 1.5, 3, 1, 1});
}

TEST_CASE("a turn's prompt splits into what was found and what was computed", "[report]") {
  HandMadeCell cell;
  cell.job("a");
  sweep::TurnRow& turn = cell.turn(0, 1, 0, 2);
  turn.prompt_tok = 100;
  turn.cached_gpu_tok = 30;
  turn.cached_host_tok = 20;
  turn.recomputed_tok = 60;  // more than its prompt lacked: it was preempted
  const sweep::CellResult result = cell.result();
  const JobDigest digest = digest_jobs(result.jobs, result.turns);
  REQUIRE(digest.by_turn.size() == 2);
  CHECK(digest.by_turn[0].turns == 0);
  CHECK(digest.by_turn[1].gpu_tok == 30);
  CHECK(digest.by_turn[1].host_tok == 20);
  CHECK(digest.by_turn[1].again_tok == 50);
  CHECK(digest.by_turn[1].new_tok == 0);
}

TEST_CASE("KV of a job is followed from the end of a turn to what the next one found", "[report]") {
  using Kind = sweep::KvEventKind;
  HandMadeCell cell;
  cell.job("a").n_turns = 2;
  sweep::TurnRow first = cell.turn(0, 0, 0, 3);
  cell.turns.back().prompt_tok = 150;
  cell.turns.back().output_tok = 11;  // 160 tokens of KV
  sweep::TurnRow& next = cell.turn(0, 1, 4, 9);
  next.prompt_tok = 200;
  next.cached_gpu_tok = 32;
  next.cached_host_tok = 64;
  next.t_admit_s = 6;
  next.t_first_token_s = 7;
  cell.step(0, 1, 0);
  cell.event(2, 0, Kind::store).blocks = 6;
  cell.event(3, 0, Kind::pin).turn = 0;
  cell.event(4.5, 0, Kind::unpin).turn = 0;
  cell.event(5, 0, Kind::evict_gpu).blocks = 8;
  cell.event(5.5, 0, Kind::evict_host).blocks = 2;
  cell.event(5.6, 7, Kind::evict_gpu).blocks = 1;  // of another job
  const sweep::CellResult result = cell.result();
  const ChosenGap gap = choose_gap(result.jobs, result.turns);
  CHECK(gap.job == 0);
  CHECK(gap.turn == 0);
  GapTimeline timeline;
  REQUIRE(replay_gap(gap, result.turns, result.kv_events, 16, timeline));
  using Line = std::vector<std::pair<double, double>>;
  CHECK(timeline.context_tok == 160);
  CHECK(timeline.gpu == Line{{3, 160}, {5, 32}, {7, 160}});
  CHECK(timeline.host == Line{{3, 96}, {5.5, 64}});
  CHECK(timeline.pinned == Line{{3, 4.5}});
  CHECK(timeline.computed_tok == 104);
}

TEST_CASE("jobs with one turn have no gap", "[report]") {
  HandMadeCell cell;
  cell.job("a");
  cell.turn(0, 0, 0, 1);
  const sweep::CellResult result = cell.result();
  GapTimeline timeline;
  CHECK(choose_gap(result.jobs, result.turns).turn == -1);
  CHECK_FALSE(replay_gap(choose_gap(result.jobs, result.turns), result.turns, result.kv_events, 16,
                         timeline));
}

TEST_CASE(
    "a report of an archive is JSON with every cell that has a result, and those that lack one",
    "[report]") {
  ArchiveWorld world(4);
  world.open();
  world.run_all({0, 1, 2});
  world.close();
  const support::TempDir profiles;
  const Report report = make_report({world.path()}, profiles.path());
  const json page = json::parse(report_json(report, "<test>"));
  CHECK(page["format"] == "kvsweep-report");
  CHECK(page["program"] == "<test>");
  std::size_t cells = 0;
  for (const json& panel : page["panels"]) {
    CHECK_THAT(panel["kind"].get<std::string>(), Contains("MODELLED"));
    for (const json& group : panel["groups"]) {
      cells += group["repeats"].get<std::size_t>();
    }
    const auto tokens = std::ranges::find_if(panel["charts"], [](const json& chart) {
      return chart["id"] == "tokens" && chart["at"]["rate"] == "all" &&
             chart["at"]["x"] == "largest";
    });
    REQUIRE(tokens != panel["charts"].end());
    double steps = 0;
    for (const json& series : (*tokens)["panels"][0]["series"])
      for (const json& y : series["y"]) steps += y >= 1 ? y.get<double>() : 0;
    CHECK(steps > 0);
  }
  CHECK(cells == 3);
  const json& missing = page["tables"].back();
  CHECK(missing["part"] == "missing");
  REQUIRE(missing["rows"].size() == 1);
  CHECK(missing["rows"][0][2] == "planned");
  CHECK(page["archives"][0]["ok"] == 3);
}

TEST_CASE("cells that two archives share count once", "[report]") {
  ArchiveWorld world(3);
  world.open();
  world.run_all({0, 1});
  world.close();
  const support::TempDir profiles;
  const Report report = make_report({world.path(), world.path()}, profiles.path());
  std::size_t cells = 0;
  for (const ReportPanel& panel : report.panels)
    for (const ReportGroup& group : panel.groups) cells += group.repeats.size();
  CHECK(cells == 2);
  CHECK(report.missing.size() == 1);
}
