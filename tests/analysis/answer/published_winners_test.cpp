#include "analysis/answer/published_winners.hpp"

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::AnswerLine;

namespace {

/// An H100 with a policy in host memory, one without, and fcfs, at two rates.
struct Race {
  Race() {
    published.source = "the paper (of 2026), table 1";
    published.metric = analysis::kAnswerFigure;
  }

  Race& at(std::int64_t jps, double fcfs_s, double pins_s, double tier_s) {
    cells.add({{"policy", text("fcfs")}, {"jps", whole(jps)}}, fcfs_s);
    cells.add({{"policy", text("pins")}, {"jps", whole(jps)}}, pins_s);
    cells.add({{"policy", text("tier")}, {"jps", whole(jps)}, {"dram_gib", whole(16)}}, tier_s);
    return *this;
  }

  Race& published_at(double jps, const std::string& variant, double value) {
    published.entries.push_back({"h100-80gb", variant, jps, value});
    return *this;
  }

  std::vector<AnswerLine> against() const {
    const auto configured = cells.cells();
    const std::vector<analysis::Published> all = {published};
    return analysis::answer_of(arrange(analysis::with_results(configured)), all).against;
  }

  ArchivedCells cells;
  analysis::Published published;
};

}  // namespace

TEST_CASE("a publication with another winner is named, with its margin at these rates") {
  Race race;
  race.at(3, 100, 60, 50).at(6, 120, 70, 55).at(10, 130, 70, 60);
  race.published_at(3, "pins", 40).published_at(3, "tier-16G", 46);
  race.published_at(6, "pins", 50).published_at(6, "tier-16G", 56);
  race.published_at(10, "pins", 60).published_at(10, "tier-16G", 50);
  CHECK(race.against() ==
        std::vector<AnswerLine>{{"h100-80gb with 16 GiB",
                                 "published otherwise (the paper): at 3 and 6 jobs/s pins is best, "
                                 "tier-16G takes 1.12 to 1.15 times as long"}});
}

TEST_CASE("no publication contradicts a winner that it lacks, ties with, or that we tie with") {
  CHECK(Race().at(3, 100, 60, 50).published_at(3, "pins", 40).against().empty());
  Race close;
  close.at(3, 100, 60, 50).published_at(3, "pins", 100).published_at(3, "tier-16G", 100.9);
  CHECK(close.against().empty());
  Race tie;
  tie.at(3, 100, 50.1, 50).published_at(3, "pins", 40).published_at(3, "tier-16G", 50);
  CHECK(tie.against().empty());
}

TEST_CASE("a contradiction names the claims that compare the two policies") {
  analysis::PublishedWinner otherwise{"h100-80gb", "h100-80gb", "-", "a", "b", "the paper", {"3"}};
  otherwise.ours_over_theirs.resize(1);
  otherwise.ours_over_theirs[0].value = 1.2;
  otherwise.claims = {"R-7", "R-8"};
  CHECK(line_of(otherwise).says ==
        "published otherwise (the paper; claims R-7 and R-8): at 3 jobs/s b is best, a takes 1.20 "
        "times as long");
}
