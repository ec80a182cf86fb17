#include <filesystem>

#include "analysis/compare/published.hpp"
#include "sweeps/archive/errors.hpp"
#include "tests/analysis/claims/court.hpp"

using analysis::Claim;
using analysis::Published;
using Catch::Matchers::Contains;

namespace {

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
  CHECK_THAT(
      refusal("[A]\nsays = \"x\"\nsource = \"y\"\nmetric = \"m\"\nlow = 1\nfrom.policy = \"a\"\n"),
      Contains("has from and no base"));
}

TEST_CASE("the shipped claims can be read, each beside its own source's numbers", "[claims]") {
  const auto sets = analysis::claim_sets("sweeps");
  CHECK(sets == std::vector<std::string>{"arguments", "ipdps25", "lab", "seeds-000", "seeds-001",
                                         "vllm-agentx", "vllm"});
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
