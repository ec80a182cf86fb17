#include "analysis/compare/decision.hpp"

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

TEST_CASE("the best mean wins, and the next is the best of those that do not tie") {
  const Decision made =
      decision({contender("slow", {90, 91, 92}), contender("fast", {30, 31, 32}),
                contender("same", {30.1, 31.1, 32.1}), contender("middle", {60, 61, 62})});
  CHECK(made.best == 1);
  CHECK(made.tied == std::vector<std::size_t>{2});
  CHECK(made.next == 3U);
  CHECK(made.next_over_best.value == Approx(1.968).margin(1e-3));
  CHECK(made.standings ==
        std::vector<Standing>{Standing::behind, Standing::best, Standing::tied, Standing::behind});
}

TEST_CASE("of a throughput the highest wins") {
  const std::vector<Contender> two = {contender("a", {10, 11, 12}), contender("b", {20, 22, 24})};
  CHECK(decision(two, Direction::higher).best == 1);
  CHECK(decision(two, Direction::lower).best == 0);
  CHECK(decide(two, Direction::neither).empty());
}

TEST_CASE(
    "a policy whose repeats lie on both sides of the best ties with it, and nothing is next") {
  const Decision made = decision({contender("a", {10, 10, 10}), contender("b", {8, 14, 9})});
  CHECK(made.tied == std::vector<std::size_t>{1});
  CHECK_FALSE(made.next);
}

TEST_CASE("one repeat decides by one per cent, without an interval") {
  const Decision close = decision({contender("a", {100}), contender("b", {100.9})});
  CHECK(close.tied.size() == 1);
  const Decision apart = decision({contender("a", {100}), contender("b", {102})});
  CHECK(apart.next == 1U);
  CHECK(std::isnan(apart.next_over_best.interval.low));
}

TEST_CASE("the more policies compete, the smaller the p-value that tells one from the best") {
  // Against the best alone p is 0.03; of five such rivals the smallest counts fivefold.
  const Contender best = contender("best", {10, 10, 10});
  const auto rival = [](const std::string& name) {
    return contender(name, {12, 11.2, 11});  // mean log ratio 0.130, t = 5.6
  };
  CHECK(decision({best, rival("a")}).tied.empty());
  CHECK(decision({best, rival("a"), rival("b"), rival("c"), rival("d"), rival("e")}).tied.size() ==
        5);
}

TEST_CASE("policies without a host tier compete with those of each size, and sizes not together") {
  const std::vector<Contender> row = {contender("fcfs", {50}), contender("lmcache", {60}, "16"),
                                      contender("lmcache", {40}, "128")};
  const std::vector<Decision> decisions = decide(row, Direction::lower);
  REQUIRE(decisions.size() == 2);
  CHECK((decisions[0].dram == "16" && decisions[0].best == 0));
  CHECK((decisions[1].dram == "128" && decisions[1].best == 2));
  CHECK(decisions[1].standings[1] == Standing::absent);
  CHECK(standing_text(decisions, 0) == "best with 16 GiB");
  CHECK(standing_text(decisions, 1).empty());
  CHECK(standing_text(decisions, 2) == "best");
}
