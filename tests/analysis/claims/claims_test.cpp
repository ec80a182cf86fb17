#include "analysis/claims/claims.hpp"

#include <cmath>
#include <sstream>

#include "sweeps/archive/errors.hpp"
#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using analysis::Claim;
using analysis::ClaimReport;
using analysis::ClaimRow;
using analysis::GridFormat;
using analysis::Published;
using analysis::Verdict;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kRatio =
    "[R-5]\n"
    "says = \"pinning is 3.5 times as fast\"\n"
    "source = \"a page\"\n"
    "metric = \"jct_wall_mean_s\"\n"
    "where.jps = 3\n"
    "value.policy = \"fcfs\"\n"
    "base.policy = \"continuum\"\n"
    "low = 3.0\n"
    "high = 4.0\n";

std::vector<Claim> claims_of(const std::string& text,
                             const std::vector<Published>& published = {}) {
  const support::TempDir folder;
  return analysis::load_claims(folder.write("page.toml", text), published);
}

sweep::Table no_table(const analysis::ConfiguredCell&, std::string_view) { return {}; }

/// What an archive says to claims that need no table.
struct Court {
  explicit Court(const std::string& text, const std::vector<Published>& published = {})
      : claims(claims_of(text, published)) {}

  /// Results of as many repeats.
  void add(const std::string& policy, const std::vector<double>& jct_s, Settings more = {}) {
    std::int64_t seed = 42;
    for (const double value : jct_s) {
      Settings settings = more;
      settings.try_emplace("policy", text(policy));
      settings.try_emplace("jps", whole(3));
      archive.add(settings, value, seed++);
    }
  }
  std::vector<ClaimRow> rows() const { return judge_claims(claims, archive.cells(), no_table); }
  ClaimRow row() const {
    const auto all = rows();
    REQUIRE(all.size() == 1);
    return all.front();
  }

  std::vector<Claim> claims;
  ArchivedCells archive;
};

std::string refusal(const std::string& text, const std::vector<Published>& published = {}) {
  try {
    claims_of(text, published);
  } catch (const sweep::SpecError& error) {
    return error.what();
  }
  return "accepted";
}

const Published kTable = {.source = "their table",
                          .metric = "jct_wall_mean_s",
                          .applies = {},
                          .entries = {{"h100-80gb", "fcfs", 3, 200},
                                      {"h100-80gb", "continuum", 3, 50},
                                      {"h100-80gb", "lmcache-16G", 3, 100}}};

}  // namespace

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
  CHECK_THAT(court.row().reason, Contains("the cells have no late_p99_s"));
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
      "[S]\nsays = \"x\"\nsource = \"y\"\nmetric = \"cells\"\npooled = true\nrepeats = 1\n"
      "low = 1\nhigh = 1\n");
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

TEST_CASE("limits lie around the published table's own number", "[claims]") {
  const std::string head =
      "[R]\nsays = \"x\"\nsource = \"y\"\nmetric = \"jct_wall_mean_s\"\nwhere.gpu = "
      "\"h100-80gb\"\nwhere.jps = 3\ntolerance = 0.25\n";
  const auto ratio =
      claims_of(head + "value.policy = \"fcfs\"\nbase.policy = \"continuum\"\n", {kTable});
  CHECK(ratio.at(0).points.at(0).published == Approx(4));
  CHECK(ratio.at(0).points.at(0).low == Approx(3));
  CHECK(ratio.at(0).points.at(0).high == Approx(5));
  const auto value =
      claims_of(head + "where.policy = \"lmcache\"\nwhere.dram_gib = 16\n", {kTable});
  CHECK(value.at(0).points.at(0).published == Approx(100));
  CHECK_THAT(refusal(head + "where.policy = \"priority\"\n", {kTable}),
             Contains("has a tolerance and no published value"));
}

TEST_CASE("an invalid file of claims is refused with the place of the error", "[claims]") {
  CHECK(refusal(kRatio) == "accepted");
  CHECK_THAT(refusal(std::string(kRatio) + "experimant = \"a\"\n"),
             Contains("page.toml:10:") && Contains("did you mean experiment?"));
  CHECK_THAT(refusal("says = \"x\"\n"), Contains("must be in the table of a claim"));
  CHECK_THAT(refusal("[A]\nsays = \"x\"\nsource = \"y\"\nhigh = 1\n"), Contains("lacks metric"));
  CHECK_THAT(refusal("[A]\nsays = \"x\"\nsource = \"y\"\nmetric = \"m\"\n"),
             Contains("needs low, high, or a tolerance"));
  CHECK_THAT(refusal(std::string(kRatio) + "pooled = 1\n"), Contains("must be true or false"));
  CHECK_THAT(refusal(std::string(kRatio) + "repeats = 0\n"), Contains("must be at least 1"));
  CHECK_THAT(refusal(std::string(kRatio) + "tolerance = 0.1\n"),
             Contains("both a tolerance and limits"));
  CHECK_THAT(refusal(std::string(kRatio) + "[R-5.at.x]\nlow = 9\n"), Contains("low above high"));
}

TEST_CASE("tables show verdict, numbers, limits and words", "[claims]") {
  Court court(std::string(kRatio) + "published = 3.38\n");
  court.add("fcfs", {350, 340, 360});
  court.add("continuum", {100, 100, 100});
  const ClaimReport report{court.claims, court.rows(), {}};
  std::ostringstream text, md, csv;
  print_claims(report, GridFormat::text, text);
  print_claims(report, GridFormat::md, md);
  print_claims(report, GridFormat::csv, csv);
  CHECK_THAT(text.str(), Contains("claims of page, MODELLED (sim)") && Contains("3.380") &&
                             Contains("3 .. 4") && Contains("1 reproduced"));
  CHECK_THAT(text.str(), Contains("R-5 reproduced: pinning is 3.5 times as fast (a page"));
  CHECK_THAT(md.str(), Contains("### claims of page") && Contains("**reproduced**"));
  CHECK_THAT(csv.str(), Contains("set,claim,at,verdict,direction,") &&
                            Contains("page,R-5,,reproduced,reproduced,3.499") &&
                            Contains(",3.38,3,4,3,"));
}

TEST_CASE("decided claims come first, and a set that no cell concerns is one line", "[claims]") {
  Court court(
      "[A]\nsays = \"x\"\nsource = \"y\"\nmetric = \"jct_wall_mean_s\"\nwhere.policy = \"fcfs\"\n"
      "low = 99\nhigh = 101\n[B]\nsays = \"x\"\nsource = \"y\"\nmetric = \"jct_wall_mean_s\"\n"
      "where.policy = \"fcfs\"\nlow = 50\n");
  court.add("fcfs", {90, 100, 110});
  const ClaimReport report{court.claims, court.rows(), {}};
  std::ostringstream text;
  print_claims(report, GridFormat::text, text);
  CHECK(text.str().find("B reproduced") < text.str().find("A undecided"));
  const Court empty(kRatio);
  const ClaimReport none{empty.claims, empty.rows(), {}};
  std::ostringstream line;
  print_claims(none, GridFormat::text, line);
  CHECK(line.str() == "no claim of page concerns these cells\n");
}

TEST_CASE("modelled and measured figures have tables of their own, each with its verdicts",
          "[claims]") {
  Court court(std::string(kRatio) + "at.now.where.model = \"llama-3.1-8b\"\n" +
              "at.never.where.model = \"opt-13b\"\n");
  for (const char* backend : {"sim", "cuda"}) {
    court.add("fcfs", {350, 350, 350}, {{"backend", text(backend)}});
    court.add("continuum", {100, 100, 100}, {{"backend", text(backend)}});
  }
  std::ostringstream out;
  print_claims({court.claims, court.rows(), {}}, GridFormat::text, out);
  const std::string text = out.str();
  const auto cuda = text.find("claims of page, MEASURED (cuda)"),
             sim = text.find("claims of page, MODELLED (sim)"),
             none = text.find("claims of page, without results");
  CHECK((cuda < sim && sim < none && none != std::string::npos));
  const std::string modelled = text.substr(sim, none - sim);
  CHECK_THAT(modelled, Contains("now") && !Contains("never "));
  CHECK_THAT(modelled, Contains("now  reproduced"));
  CHECK_THAT(modelled, Contains("R-5 undecided:"));  // a point has no result
}

TEST_CASE("the shipped claims can be read, each beside its own source's numbers", "[claims]") {
  const auto sets = analysis::claim_sets("sweeps");
  CHECK(sets == std::vector<std::string>{"ipdps25", "lab", "seeds-000", "seeds-001"});
  for (const std::string& set : sets) {
    const std::string table = "sweeps/published/" + set + ".toml";
    std::vector<Published> published;
    if (std::filesystem::exists(table)) published.push_back(analysis::load_published(table));
    const auto claims = analysis::load_claims("sweeps/claims/" + set + ".toml", published);
    CHECK_FALSE(claims.empty());
    for (const Claim& claim : claims) {
      INFO(set << ' ' << claim.id);
      CHECK_FALSE(claim.points.empty());
      CHECK((claim.experiment.empty() ||
             std::filesystem::exists("sweeps/experiments/" + claim.experiment + ".toml")));
    }
  }
}

TEST_CASE("an unknown set of claims is refused with those there are", "[claims]") {
  CHECK_THROWS_WITH(analysis::run_claims({}, "seeds-009", "sweeps"),
                    Contains("no set of claims is called seeds-009") && Contains("seeds-000"));
}
