#include "analysis/claims/sensitivity.hpp"
#include "analysis/claims/cost_models.hpp"

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using analysis::Factors;
using analysis::Verdict;
using Catch::Matchers::Contains;

namespace {

sweep::Table without_tables(const analysis::ConfiguredCell&, std::string_view) { return {}; }

/// A claim that fcfs takes 3 to 4 times as long as pinning, and cells that say so.
struct BandCourt {
  analysis::ClaimReport report;
  ArchivedCells archive;

  BandCourt() {
    const support::TempDir folder;
    report.claims = analysis::load_claims(
        folder.write(
            "page.toml",
            "[R-5]\nsays = \"pinning is 3.5 times as fast\"\nsource = \"a page\"\n"
            "metric = \"jct_wall_mean_s\"\nexperiment = \"matrix-72\"\nwhere.jps = 3\n"
            "value.policy = \"fcfs\"\nbase.policy = \"continuum\"\nlow = 3.0\nhigh = 4.0\n"),
        {});
    add(3.5, {});
  }

  /// Three repeats in which fcfs takes this many times as long, with these factors.
  void add(double ratio, const Factors& factors, const std::string& backend = "sim") {
    for (std::int64_t seed = 42; seed < 45; ++seed) {
      Settings settings = {{"jps", whole(3)}, {"backend", text(backend)}};
      for (const auto& [key, value] : factors) settings[key] = value;
      settings["policy"] = text("fcfs");
      archive.add(settings, 100 * ratio, seed);
      settings["policy"] = text("continuum");
      archive.add(settings, 100, seed);
    }
  }

  /// Cells of the whole band; those of the tier's costs are the same, since there is no tier.
  void add_band(double ratio) {
    for (const Factors& factors : analysis::sensitivity_band())
      if (!factors.contains("sim.tier_scale")) add(ratio, factors);
  }

  const analysis::ClaimRow& judge() {
    cells_ = archive.cells();
    report.rows = analysis::judge_claims(report.claims, cells_, without_tables);
    analysis::judge_sensitivity(report, cells_, without_tables);
    REQUIRE(report.rows.size() == 1);
    return report.rows.front();
  }

 private:
  std::vector<analysis::ConfiguredCell> cells_;
};

}  // namespace

TEST_CASE("a verdict that holds with all costs of the band stays", "[claims]") {
  BandCourt court;
  court.add_band(3.8);
  CHECK(court.judge().verdict == Verdict::reproduced);
  CHECK_THAT(court.report.band.at(0), Contains("of 1 decided numbers on sim 1 hold"));
  CHECK(court.report.band.size() == 1);
}

TEST_CASE("a verdict that turns within the band is undecided, on an edge", "[claims]") {
  BandCourt court;
  court.add(4.2, {{"sim.token_scale", 1.06}});
  const analysis::ClaimRow& row = court.judge();
  CHECK(row.verdict == Verdict::undecided);
  CHECK(row.direction == Verdict::reproduced);  // still slower, whatever its size
  CHECK_THAT(row.reason, Contains("on an edge: with sim.token_scale=1.06 4.200, not reproduced"));
}

TEST_CASE("a direction that turns within the band is undecided", "[claims]") {
  BandCourt court;
  court.add(0.5, {{"sim.fixed_scale", 0.94}});
  CHECK(court.judge().direction == Verdict::undecided);
}

TEST_CASE("cells that the band lacks are named with the commands that run them", "[claims]") {
  BandCourt court;
  court.add(3.5, {{"sim.fixed_scale", 0.94}});
  CHECK(court.judge().verdict == Verdict::reproduced);
  const std::vector<std::string>& lines = court.report.band;
  CHECK_THAT(lines.at(0), Contains("1 lack cells"));
  REQUIRE(lines.size() == 6);  // five variations; the tier's costs change nothing without one
  CHECK(lines.at(4) ==
        "  kvsweep run sweeps/experiments/matrix-72.toml --set repeat.n=3 "
        "--set sim.fixed_scale=0.94 --set sim.token_scale=0.94 --only jps=3,policy=continuum,fcfs "
        "--archive matrix-72-fixed_scale-0.94-token_scale-0.94.h5");
}

TEST_CASE("cells with other costs never count as those of the card, nor measured ones as simulated",
          "[claims]") {
  BandCourt court;
  court.add(9, {{"sim.token_scale", 1.5}});
  CHECK(court.judge().ours.value == Approx(3.5));
  BandCourt measured;
  measured.archive = ArchivedCells();
  measured.add(3.5, {}, "cuda");
  CHECK(measured.judge().verdict == Verdict::reproduced);
  CHECK_THAT(measured.report.band.at(0), Contains("of 0 decided numbers on sim"));
}

TEST_CASE("a policy with a tier of other costs is compared with one that has no tier") {
  BandCourt court;
  const support::TempDir folder;
  court.report.claims = analysis::load_claims(
      folder.write("page.toml",
                   "[A]\nsays = \"a tier halves it\"\nsource = \"a page\"\n"
                   "metric = \"jct_wall_mean_s\"\nexperiment = \"matrix-72\"\nwhere.jps = 3\n"
                   "value.policy = \"lmcache\"\nbase.policy = \"fcfs\"\nhigh = 0.5\n"),
      {});
  for (const double scale : {1.0, 0.88, 1.12}) {
    for (std::int64_t seed = 42; seed < 45; ++seed) {
      Settings settings = {{"jps", whole(3)},
                           {"policy", text("lmcache")},
                           {"dram_gib", whole(16)},
                           {"policy.host_memory", text("pinned")}};
      if (scale != 1) settings["sim.tier_scale"] = scale;
      court.archive.add(settings, scale > 1 ? 300 : 150, seed);
    }
  }
  const analysis::ClaimRow& row = court.judge();
  CHECK(row.ours.value == Approx(150.0 / 350));
  CHECK(row.verdict == Verdict::undecided);
  CHECK_THAT(row.reason, Contains("on an edge: with sim.tier_scale=1.12"));
}

TEST_CASE("numbers are judged under each cost model of the card, and what is missing is named",
          "[claims]") {
  const support::TempDir folder;
  folder.write("page.toml",
               "[R-5]\nsays = \"pinning is 3.5 times as fast\"\nsource = \"a page\"\n"
               "metric = \"jct_wall_mean_s\"\nexperiment = \"matrix-72\"\nwhere.jps = 3\n"
               "where.gpu = \"h100-80gb\"\nvalue.policy = \"fcfs\"\nbase.policy = "
               "\"continuum\"\nlow = 3.0\nhigh = 4.0\n");
  ArchivedCells archive;
  const auto add = [&](const std::string& model, double ratio) {
    for (std::int64_t seed = 42; seed < 45; ++seed)
      for (const char* policy : {"fcfs", "continuum"})
        archive.add({{"jps", whole(3)}, {"policy", text(policy)}, {"sim.cost_model", text(model)}},
                    policy == std::string("fcfs") ? 100 * ratio : 100, seed);
  };
  const auto judged = [&] {
    analysis::ClaimReport report;
    report.claims = analysis::load_claims((folder.path() / "page.toml").string(), {});
    const auto cells = archive.cells();
    report.rows = analysis::judge_claims(report.claims, cells, without_tables);
    return analysis::other_cost_models(report, {{"h100-80gb", {"kernels", "published"}}});
  };
  add("published", 3.5);
  REQUIRE(judged().size() == 2);
  CHECK_THAT(judged()[0],
             Contains("of 1 decided numbers on sim 0 have") && Contains("1 lack cells"));
  CHECK(judged()[1] ==
        "  kvsweep run sweeps/experiments/matrix-72.toml --set repeat.n=3 --set "
        "sim.cost_model=kernels --only gpu=h100-80gb,jps=3,policy=continuum,fcfs --archive "
        "matrix-72-kernels.h5");
  add("kernels", 4.5);
  REQUIRE(judged().size() == 1);
  CHECK_THAT(judged()[0], Contains("of 2 decided numbers on sim 0 have the same verdict") &&
                              Contains("2 have another under some"));
}

TEST_CASE("the cost models of a card are the tables of its profile", "[claims]") {
  const auto models = analysis::cost_models_of("sweeps");
  CHECK(models.at("h100-80gb") == std::set<std::string>{"kernels", "measured", "published"});
  CHECK(models.at("l40s-48gb") == std::set<std::string>{"kernels"});
}
