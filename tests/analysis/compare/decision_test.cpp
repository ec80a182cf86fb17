#include "analysis/compare/decision.hpp"

#include <algorithm>
#include <cmath>

#include "tests/support/catch.hpp"

using analysis::Contender;
using analysis::decide;
using analysis::Decision;
using analysis::Direction;
using analysis::Standing;

namespace {

Contender contender(const std::string& name, std::vector<double> values,
                    const std::string& dram = "-") {
  analysis::BySeed by_seed;
  for (std::size_t i = 0; i < values.size(); ++i)
    by_seed[42 + static_cast<std::int64_t>(i)] = values[i];
  return {name, dram, by_seed};
}

Decision decision(const std::vector<Contender>& contenders, Direction way = Direction::lower) {
  const std::vector<Decision> all = decide(contenders, way);
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("the best mean wins, and the others are ranked by how far they are behind") {
  const Decision made = decision({contender("slow", {90, 91, 92}), contender("fast", {30, 31, 32}),
                                  contender("middle", {60, 61, 62})});
  CHECK(made.best == 1);
  REQUIRE(made.rivals.size() == 2);
  CHECK(made.rivals[0].at == 2);
  CHECK(made.rivals[0].over_best.value == Approx(1.968).margin(1e-3));
  CHECK(made.rivals[1].at == 0);
  CHECK(made.standings ==
        std::vector<Standing>{Standing::behind, Standing::best, Standing::behind});
}

TEST_CASE("policies less than one per cent apart tie, however sure the difference is") {
  const Decision made =
      decision({contender("fast", {30, 31, 32}), contender("same", {30.1, 31.1, 32.1}),
                contender("slow", {60, 61, 62})});
  CHECK(made.best == 0);
  CHECK(made.standings == std::vector<Standing>{Standing::tied, Standing::tied, Standing::behind});
}

TEST_CASE("of a throughput the highest wins") {
  const std::vector<Contender> two = {contender("a", {10, 11, 12}), contender("b", {20, 22, 24})};
  CHECK(decision(two, Direction::higher).best == 1);
  CHECK(decision(two, Direction::lower).best == 0);
  CHECK(decide(two, Direction::neither).empty());
}

TEST_CASE("a policy whose repeats lie on both sides of the best is undecided, however far apart") {
  const Decision made = decision({contender("a", {10, 10, 10}), contender("b", {9, 25, 40})});
  CHECK(made.standings == std::vector<Standing>{Standing::best, Standing::undecided});
  CHECK(made.rivals[0].over_best.value > 2);
}

TEST_CASE("one repeat decides by one per cent, without an interval") {
  const Decision close = decision({contender("a", {100}), contender("b", {100.9})});
  CHECK(close.standings[1] == Standing::tied);
  const Decision apart = decision({contender("a", {100}), contender("b", {102})});
  CHECK(apart.standings[1] == Standing::behind);
  CHECK(std::isnan(apart.rivals[0].over_best.interval.low));
}

TEST_CASE("policies are ranked over the seeds that they have in common") {
  // Seed 44 is the slow one, and b lacks it: a is faster wherever both ran.
  const std::vector<Contender> row = {contender("a", {10, 11, 100}), contender("b", {20, 22})};
  CHECK(decision(row).best == 0);
  CHECK(decision(row).standings[1] == Standing::behind);
}

TEST_CASE("a policy of which nothing is known yet does not take part") {
  const std::vector<Contender> row = {contender("fcfs", {50}), contender("lmcache", {}, "16")};
  const Decision made = decision(row);
  CHECK(made.dram == "-");
  CHECK(made.rivals.empty());
  CHECK(made.standings == std::vector<Standing>{Standing::best, Standing::absent});
}

TEST_CASE("figures that are 0 throughout tie") {
  const Decision made = decision(
      {contender("a", {0, 0, 0}), contender("b", {0, 0, 0}), contender("c", {10, 11, 12})});
  CHECK(made.standings == std::vector<Standing>{Standing::tied, Standing::tied, Standing::behind});
}

TEST_CASE("the more policies compete, the smaller the p-value that tells one from the best") {
  // Against the best alone p is 0.03; of five such rivals the smallest counts fivefold.
  const Contender best = contender("best", {10, 10, 10});
  const auto rival = [](const std::string& name) {
    return contender(name, {12, 11.2, 11});  // mean log ratio 0.130, t = 5.6
  };
  CHECK(decision({best, rival("a")}).standings[1] == Standing::behind);
  const Decision six = decision({best, rival("a"), rival("b"), rival("c"), rival("d"), rival("e")});
  CHECK(std::ranges::count(six.standings, Standing::undecided) == 5);
}

TEST_CASE("policies without a host tier compete with those of each size, and sizes not together") {
  const std::vector<Contender> row = {contender("fcfs", {50}), contender("lmcache", {60}, "16"),
                                      contender("lmcache", {40}, "128")};
  const std::vector<Decision> decisions = decide(row, Direction::lower);
  REQUIRE(decisions.size() == 2);
  CHECK((decisions[0].dram == "16" && decisions[0].best == 0));
  CHECK((decisions[1].dram == "128" && decisions[1].best == 2));
  CHECK(decisions[1].standings[1] == Standing::absent);
  CHECK(texts_of(decisions, 0).text == "best with 16 GiB");
  CHECK(texts_of(decisions, 1).text.empty());
  CHECK(texts_of(decisions, 2).text == "best");
  CHECK(texts_of(decisions, 0).mark == "*16G");
  CHECK(texts_of(decisions, 2).mark == "*");
}
