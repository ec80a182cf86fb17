#include "analysis/claims/claims.hpp"

#include <cmath>

#include "analysis/compare/published.hpp"
#include "tests/analysis/claims/court.hpp"

using analysis::ClaimRow;
using analysis::Verdict;
using Catch::Matchers::Contains;

TEST_CASE("cards that a claim is decided for have rows of their own, the publication's unnamed",
          "[claims]") {
  Court court(std::string(kRatio) + "where.gpu = \"a100 | h200\"\n");
  for (const auto& [card, factor] : {std::pair("a100", 3.5), std::pair("h200", 2.0)}) {
    court.add("fcfs", {factor, factor, factor}, {{"gpu", text(card)}});
    court.add("continuum", {1, 1, 1}, {{"gpu", text(card)}});
  }
  court.add("fcfs", {9, 9, 9}, {{"gpu", text("h100")}});  // is asked for nothing
  const auto rows = court.rows();
  REQUIRE(rows.size() == 2);
  CHECK(place_of(rows[0]) == "");
  CHECK(rows[0].verdict == Verdict::reproduced);
  CHECK(place_of(rows[1]) == "on h200");
  CHECK(rows[1].verdict == Verdict::not_reproduced);
}

TEST_CASE("a claim says nothing about a card without results where another has some", "[claims]") {
  Court court(std::string(kRatio) + "where.gpu = \"a100 | h200\"\n");
  court.add("fcfs", {3, 3, 3}, {{"gpu", text("h200")}});
  court.add("continuum", {1, 1, 1}, {{"gpu", text("h200")}});
  CHECK(place_of(court.row()) == "on h200");
}

TEST_CASE("a claim is reproduced when its interval lies within the limits", "[claims]") {
  Court court(kRatio);
  court.add("fcfs", {350, 340, 360});
  court.add("continuum", {100, 100, 100});
  const ClaimRow row = court.row();
  CHECK(row.verdict == Verdict::reproduced);
  CHECK(row.ours.value == Approx(std::cbrt(3.4 * 3.5 * 3.6)));
  CHECK(row.ours.repeats == 3);
  CHECK((row.ours.interval.low == Approx(3.2592) && row.ours.interval.high == Approx(3.7565)));
  CHECK(row.reason.empty());
  CHECK(row.kind == "MODELLED (sim)");
}

TEST_CASE("a claim is not reproduced when its interval lies outside", "[claims]") {
  for (const double fcfs : {290.0, 410.0}) {
    Court court(kRatio);
    court.add("fcfs", {fcfs - 2, fcfs, fcfs + 2});
    court.add("continuum", {100, 100, 100});
    CHECK(court.row().verdict == Verdict::not_reproduced);
    CHECK_THAT(court.row().reason, Contains(fcfs < 300 ? "below 3" : "above 4"));
  }
}

TEST_CASE("a claim is refuted where its source's own number contradicts it, whatever ours is",
          "[claims]") {
  const auto judged = [](const std::string& published, const std::string& more) {
    Court court(kRatio + published + more);
    court.add("fcfs", {349, 350, 351});
    court.add("continuum", {100, 100, 100});
    return court.row();
  };
  const std::string own = "own_numbers = \"table 2\"\n";
  const ClaimRow refuted = judged("published = 2.5\n", own);
  CHECK(refuted.verdict == Verdict::refuted);
  CHECK(refuted.reason == "the source's own 2.500 (table 2) is below 3; by our cells: reproduced");
  CHECK_FALSE(refuted.direction.has_value());
  CHECK(overall(std::vector<ClaimRow>{refuted, judged("", "")}) == Verdict::refuted);
  CHECK(judged("published = 2.98\n", own).verdict == Verdict::reproduced);  // a tie with the limit
  CHECK(judged("published = 2.5\n", "").verdict == Verdict::reproduced);
}

TEST_CASE("sides that a published table does not tell apart have no published ratio", "[claims]") {
  analysis::Published table;
  table.metric = "jct_wall_mean_s";
  table.entries = {{"h100-80gb", "fcfs", 3, 100}};
  const std::string text =
      "[LINK]\nsays = \"a\"\nsource = \"b\"\nmetric = \"jct_wall_mean_s\"\nhigh = 0.5\n"
      "where = { gpu = \"h100-80gb\", policy = \"fcfs\", jps = 3 }\n"
      "value.\"sim.link\" = \"infinite\"\nbase.\"sim.link\" = \"card\"\n";
  CHECK(std::isnan(claims_of(text, {table}).front().points.front().published));
}

TEST_CASE("a ratio's direction is judged apart from its size", "[claims]") {
  const auto judged = [](double fcfs, double spread) {
    Court court(kRatio);
    court.add("fcfs", {fcfs - spread, fcfs, fcfs + spread});
    court.add("continuum", {100, 100, 100});
    return court.row();
  };
  CHECK(judged(200, 1).verdict == Verdict::not_reproduced);
  CHECK(judged(200, 1).direction == Verdict::reproduced);
  CHECK(judged(50, 1).direction == Verdict::not_reproduced);
  CHECK(judged(110, 30).direction == Verdict::undecided);
}

TEST_CASE("a share of a gain is what a rule gains by what another does, over a third", "[claims]") {
  Court court(
      "[GAIN]\nsays = \"a\"\nsource = \"b\"\nmetric = \"jct_wall_mean_s\"\nlow = 0.95\n"
      "value.policy = \"pin\"\nbase.policy = \"continuum\"\nfrom.policy = \"fcfs\"\n");
  court.add("fcfs", {100, 110, 120});
  court.add("continuum", {60, 72, 79});
  court.add("pin", {90, 101, 109});
  const ClaimRow row = court.row();
  CHECK(row.ours.value == Approx(std::cbrt(10.0 / 40 * (9.0 / 38) * (11.0 / 41))));
  CHECK(row.verdict == Verdict::not_reproduced);
  CHECK_FALSE(row.direction);  // below 1 is not slower
  CHECK(row.cells.size() == 9);
}

TEST_CASE("a share of a gain is not judged where the other gains nothing", "[claims]") {
  for (const double continuum : {100.0, 120.0}) {
    Court court(
        "[GAIN]\nsays = \"a\"\nsource = \"b\"\nmetric = \"jct_wall_mean_s\"\nlow = 0.95\n"
        "value.policy = \"pin\"\nbase.policy = \"continuum\"\nfrom.policy = \"fcfs\"\n");
    court.add("fcfs", {100, 110, 120});
    court.add("continuum", {continuum, 110, 119});
    court.add("pin", {continuum + 10, 130, 125});
    CHECK(court.row().verdict == Verdict::undecided);
    CHECK_THAT(court.row().reason, Contains("the base is not known to gain"));
  }
}

TEST_CASE("a claim's repeats can be the values of an axis", "[claims]") {
  Court court(std::string(kRatio) + "draws = \"workload.seed\"\n");
  for (const std::int64_t draw : {1, 2, 3}) {
    court.add("fcfs", {3.5 * static_cast<double>(draw)}, {{"workload.seed", whole(draw)}});
    court.add("continuum", {1.0 * static_cast<double>(draw)}, {{"workload.seed", whole(draw)}});
  }
  CHECK(court.row().verdict == Verdict::reproduced);
  CHECK(court.row().ours.repeats == 3);
  court.add("fcfs", {3.5}, {{"workload.seed", text("x")}});
  CHECK_THAT(court.row().reason, Contains("have no whole number for workload.seed"));
}

TEST_CASE("a claim that two figures are about equal has no direction", "[claims]") {
  Court court(std::string(kRatio) + "published = 1.0\n");
  court.add("fcfs", {350, 340, 360});
  court.add("continuum", {100, 100, 100});
  CHECK_FALSE(court.row().direction);
}

TEST_CASE("a claim is undecided when its interval crosses a limit", "[claims]") {
  Court court(kRatio);
  court.add("fcfs", {380, 400, 420});
  court.add("continuum", {100, 100, 100});
  CHECK(court.row().verdict == Verdict::undecided);
  CHECK_THAT(court.row().reason, Contains("the interval crosses 4"));
}

TEST_CASE("fewer than three repeats decide nothing", "[claims]") {
  Court court(kRatio);
  court.add("fcfs", {350, 350});
  court.add("continuum", {100, 100, 100});
  const ClaimRow row = court.row();
  CHECK(row.verdict == Verdict::undecided);
  CHECK(row.ours.value == Approx(3.5));
  CHECK_THAT(row.reason, Contains("2 of 3 repeats; so far within the limits"));
}

TEST_CASE("one repeat decides what does not depend on arrivals", "[claims]") {
  Court court(std::string(kRatio) + "repeats = 1\n");
  court.add("fcfs", {350});
  court.add("continuum", {100});
  CHECK(court.row().verdict == Verdict::reproduced);
}

TEST_CASE("repeats of one seed are compared with each other", "[claims]") {
  Court court(kRatio);
  court.add("fcfs", {350, 700, 35});
  court.add("continuum", {100, 200, 10, 100'000});  // the fourth has no partner
  CHECK(court.row().verdict == Verdict::reproduced);
  CHECK(court.row().ours.repeats == 3);
}

TEST_CASE("a number that the cost model was given is assumed, and shown", "[claims]") {
  Court court(std::string(kRatio) + "assumed.sim.cost_model = \"published\"\n");
  court.add("fcfs", {350, 350, 350}, {{"sim.cost_model", text("published")}});
  court.add("continuum", {100, 100, 100}, {{"sim.cost_model", text("published")}});
  CHECK(court.row().verdict == Verdict::assumed);
  CHECK(court.row().ours.value == Approx(3.5));
  CHECK_THAT(court.row().reason, Contains("an input: sim.cost_model=published"));
}

TEST_CASE("an assumed claim is decided where the model has other sources", "[claims]") {
  Court court(std::string(kRatio) + "assumed.sim.cost_model = \"published\"\n");
  court.add("fcfs", {350, 350, 350}, {{"sim.cost_model", text("kernels")}});
  court.add("continuum", {100, 100, 100}, {{"sim.cost_model", text("kernels")}});
  CHECK(court.row().verdict == Verdict::reproduced);
  CHECK(court.row().kind == "MODELLED (sim, kernels)");
}

TEST_CASE("without results a claim says what is missing and which experiment runs it", "[claims]") {
  Court court(std::string(kRatio) + "experiment = \"matrix-72\"\n");
  CHECK(court.row().verdict == Verdict::undecided);
  CHECK(court.row().kind.empty());
  CHECK_THAT(court.row().reason,
             Contains("no result with jps=3, policy=fcfs; experiment matrix-72"));
  court.add("fcfs", {350, 350, 350});
  CHECK_THAT(court.row().reason, Contains("no result with jps=3, policy=continuum"));
}

TEST_CASE("cells that cannot be judged are reported before missing cells of another kind",
          "[claims]") {
  // Kinds are judged in order of their names: cuda's cells, of other policies, come first.
  Court court(kRatio);
  court.add("fcfs", {350, 350, 350});
  court.add("continuum", {100, 100, 100}, {{"engine.max_num_seqs", whole(16)}});
  court.add("cpu_offload", {200, 200, 200}, {{"backend", text("cuda")}});
  CHECK(court.row().verdict == Verdict::undecided);
  CHECK_THAT(court.row().reason, Contains("the two sides differ in engine.max_num_seqs"));
}

TEST_CASE("a cell that failed is no result", "[claims]") {
  Court court(kRatio);
  court.add("continuum", {100, 100, 100});
  for (std::int64_t seed = 42; seed < 45; ++seed)
    court.archive.add({{"policy", text("fcfs")}, {"jps", whole(3)}}, 350, seed).status =
        sweep::CellStatus::failed;
  CHECK_THAT(court.row().reason, Contains("no result with jps=3, policy=fcfs"));
}

TEST_CASE("a figure that the cells lack is named", "[claims]") {
  Court court("[C]\nsays = \"x\"\nsource = \"y\"\nmetric = \"late_p99_s\"\nhigh = 1\n");
  court.add("fcfs", {350, 350, 350});
  CHECK(court.row().verdict == Verdict::undecided);
  CHECK_THAT(court.row().reason, Contains("the cells have no late_p99_s: "));
}

TEST_CASE("measured and modelled figures are judged apart", "[claims]") {
  Court court(kRatio);
  for (const char* backend : {"sim", "cuda"}) {
    const double faster = backend == std::string("sim") ? 1 : 2;
    court.add("fcfs", {350, 350, 350}, {{"backend", text(backend)}});
    court.add("continuum", {100 / faster, 100 / faster, 100 / faster},
              {{"backend", text(backend)}});
  }
  const auto rows = court.rows();
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].kind == "MEASURED (cuda)" && rows[0].verdict == Verdict::not_reproduced));
  CHECK((rows[1].kind == "MODELLED (sim)" && rows[1].verdict == Verdict::reproduced));
}

TEST_CASE("an emulated pool and the real one are judged apart", "[claims]") {
  Court court(kRatio);
  court.add("fcfs", {350, 350, 350}, {{"backend", text("cuda")}});
  court.add("continuum", {100, 100, 100},
            {{"backend", text("cuda")}, {"engine.emulate", text("a100-40gb")}});
  CHECK(court.row().verdict == Verdict::undecided);
  CHECK(std::isnan(court.row().ours.value));
}

TEST_CASE("the same cell in two archives counts once", "[claims]") {
  Court court(kRatio);
  for (int copy = 0; copy < 3; ++copy) {
    court.add("fcfs", {350});
    court.add("continuum", {100});
  }
  CHECK(court.row().ours.repeats == 1);
  Court pool(
      "[S]\nsays = \"x\"\nsource = \"y\"\nmetric = \"sum:jct_wall_mean_s\"\npooled = true\n"
      "repeats = 1\nlow = 350\nhigh = 350\n");
  for (int copy = 0; copy < 3; ++copy) pool.add("fcfs", {350});
  CHECK(pool.row().verdict == Verdict::reproduced);
}

TEST_CASE("cells that differ in more than their seed are not mixed", "[claims]") {
  Court court(kRatio);
  court.add("fcfs", {350, 350, 350}, {{"engine.block_size", whole(16)}});
  court.add("fcfs", {350, 350, 350}, {{"engine.block_size", whole(32)}});
  court.add("continuum", {100, 100, 100}, {{"engine.block_size", whole(16)}});
  CHECK(court.row().verdict == Verdict::undecided);
  CHECK_THAT(court.row().reason,
             Contains("differ in engine.block_size") && Contains("16") && Contains("32"));
}

TEST_CASE("the two sides of a ratio differ in nothing but what the claim varies", "[claims]") {
  Court court(kRatio);
  court.add("fcfs", {350, 350, 350}, {{"workload.jobs", whole(100)}});
  court.add("continuum", {100, 100, 100}, {{"workload.jobs", whole(50)}});
  CHECK(court.row().verdict == Verdict::undecided);
  CHECK_THAT(court.row().reason, Contains("the two sides differ in workload.jobs"));
}

TEST_CASE("a pool takes all of a repeat's cells together, and must be whole", "[claims]") {
  const std::string text_of_claim =
      "[S]\nsays = \"x\"\nsource = \"y\"\nmetric = \"sum:jct_wall_mean_s\"\npooled = true\n"
      "cells = 2\nwhere.policy = \"fcfs | continuum\"\nlow = 30\nhigh = 30\n";
  Court court(text_of_claim);
  court.add("fcfs", {10, 12, 8});
  court.add("lmcache", {1, 1, 1});
  CHECK_THAT(court.row().reason, Contains("a repeat has 1 cells of the 2"));
  court.add("continuum", {20, 18, 22});
  CHECK(court.row().verdict == Verdict::reproduced);
  CHECK(court.row().ours.value == Approx(30));
}

TEST_CASE("points of a claim have conditions and limits of their own", "[claims]") {
  Court court(
      "[R]\nsays = \"x\"\nsource = \"y\"\nmetric = \"jct_wall_mean_s\"\nwhere.policy = \"fcfs\"\n"
      "high = 100\n[R.at.jps-3]\nwhere.jps = 3\n[R.at.jps-6]\nwhere.jps = 6\nlow = 100\n"
      "high = 200\n");
  court.add("fcfs", {50, 50, 50});
  court.add("fcfs", {150, 150, 150}, {{"jps", whole(6)}});
  const auto rows = court.rows();
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].point->name == "jps-3" && rows[0].ours.value == Approx(50)));
  CHECK((rows[1].point->name == "jps-6" && rows[1].ours.value == Approx(150)));
  CHECK(analysis::overall(rows) == Verdict::reproduced);
}

TEST_CASE("one point that is not reproduced decides a claim, one undecided leaves it open",
          "[claims]") {
  const auto together = [](std::initializer_list<Verdict> verdicts) {
    std::vector<ClaimRow> rows;
    for (const Verdict verdict : verdicts) rows.push_back({nullptr, nullptr, "", verdict});
    return analysis::overall(rows);
  };
  using enum Verdict;
  CHECK(together({reproduced, reproduced}) == reproduced);
  CHECK(together({reproduced, undecided}) == undecided);
  CHECK(together({undecided, not_reproduced, assumed}) == not_reproduced);
  CHECK(together({assumed, reproduced}) == assumed);
}

TEST_CASE("a key that a cell lacks is asked for with a dash", "[claims]") {
  ArchivedCells archive;
  archive.add({{"policy", text("fcfs")}}, 1);
  archive.add({{"policy", text("lmcache")}, {"dram_gib", whole(16)}}, 1);
  archive.add({{"policy", text("lmcache")}, {"dram_gib", 128.0}}, 1);
  const auto cells = archive.cells();
  const auto matching = [&](const analysis::CellFilter& filter) {
    return std::ranges::count_if(cells, [&](const auto& cell) { return matches(cell, filter); });
  };
  CHECK(matching({{"dram_gib", {"-"}}}) == 1);
  CHECK(matching({{"dram_gib", {"-", "16"}}}) == 2);
  CHECK(matching({{"dram_gib", {"128"}}}) == 1);
  CHECK(matching({{"policy", {"lmcache"}}, {"dram_gib", {"-"}}}) == 0);
}

TEST_CASE("a number's distance from the text is by the limit that it misses") {
  analysis::ClaimPoint point;
  point.low = 2;
  point.high = 4;
  analysis::ClaimRow row{nullptr, &point, ""};
  const auto distance = [&](double ours) {
    row.ours.value = ours;
    return distance_of(row);
  };
  CHECK(distance(3) == 0);
  CHECK(distance(5) == Approx(0.25));
  CHECK(distance(1.5) == Approx(-0.25));
  CHECK(std::isnan(distance(sweep::kNotObserved)));
  point.low = point.high = 0;
  CHECK(distance(3) == 3);
}
