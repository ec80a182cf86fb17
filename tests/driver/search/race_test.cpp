#include "driver/search/race.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

using namespace driver;
using Catch::Matchers::Contains;

namespace {

analysis::BySeed seeds(std::vector<double> values) {
  analysis::BySeed by_seed;
  for (std::size_t i = 0; i < values.size(); ++i) by_seed[static_cast<std::int64_t>(i)] = values[i];
  return by_seed;
}

std::vector<std::string> left(std::vector<Entrant> entrants, const Scores& scores, int n) {
  drop_the_beaten(entrants, scores, n);
  std::vector<std::string> names;
  for (const Entrant& each : entrants)
    if (each.is_in()) names.push_back(each.policy);
  return names;
}

sweep::TuneSpec search_of(std::vector<sweep::TuneKey> keys, int candidates) {
  sweep::TuneSpec tune;
  tune.policy = "pin";
  tune.candidates = candidates;
  tune.keys = std::move(keys);
  return tune;
}

template <class T>
std::vector<T> values_of(const std::vector<Candidate>& candidates, const std::string& key) {
  std::vector<T> values;
  for (const Candidate& each : candidates) values.push_back(std::get<T>(each.values.at(key).value));
  return values;
}

}  // namespace

TEST_CASE("a policy leaves the race when it surely needs more than the leader, seed by seed") {
  const Scores scores = {{"a", seeds({10, 20, 30})},
                         {"surely", seeds({11, 22, 33.1})},
                         {"perhaps", seeds({9, 25, 33})},
                         {"equal", seeds({10, 20, 30})}};
  CHECK(left({{"a"}, {"surely"}, {"perhaps"}, {"equal"}}, scores, 3) ==
        std::vector<std::string>{"a", "perhaps", "equal"});
  std::vector<Entrant> entrants = {{"a"}, {"surely"}};
  drop_the_beaten(entrants, scores, 3);
  CHECK_THAT(entrants[1].why_out, Contains("1.101 (") && Contains(" of a after 3 seeds"));
}

TEST_CASE("a policy without one of the results is out, and cannot lead") {
  const Scores scores = {{"a", seeds({10, 20, 30})}, {"fast", seeds({1, 2})}};
  CHECK(left({{"a"}, {"fast"}, {"never ran"}}, scores, 3) == std::vector<std::string>{"a"});
}

TEST_CASE("a policy that has left the race stays out") {
  const Scores scores = {{"a", seeds({10, 20, 30})}, {"out", seeds({1, 2, 3})}};
  CHECK(left({{"a"}, {"out", "beaten before"}}, scores, 3) == std::vector<std::string>{"a"});
  const std::vector<Entrant> entrants = {{"a"}, {"out", "beaten before"}};
  CHECK(leader(entrants, scores) == "a");
}

TEST_CASE("rounds begin with three seeds, which have an interval, and end with all") {
  std::vector<int> rounds;
  for (int seeds = 0; seeds < 20;)
    rounds.push_back(seeds = analysis::seeds_of_next_round(seeds, 20));
  CHECK(rounds == std::vector<int>{3, 5, 7, 10, 15, 20});
}

TEST_CASE("each part of a range is drawn once, and one above 0 is cut in the logarithm") {
  const auto candidates = draw_candidates(search_of({{"policy.ttl_s", {}, 1, 1024}}, 10));
  std::vector<double> ttls = values_of<double>(candidates, "policy.ttl_s");
  std::ranges::sort(ttls);
  REQUIRE(ttls.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(ttls[i] >= static_cast<double>(1 << i) * 0.99);
    CHECK(ttls[i] <= static_cast<double>(2 << i) * 1.01);
  }
}

TEST_CASE("candidates are those of the seed, and equal ones are drawn once") {
  const sweep::TuneKey range{"policy.ttl_s", {}, 0, 8}, few{"policy.n", {}, 1, 3, true};
  sweep::TuneSpec search = search_of({range}, 6);
  const auto ttls = values_of<double>(draw_candidates(search), "policy.ttl_s");
  CHECK(values_of<double>(draw_candidates(search), "policy.ttl_s") == ttls);
  search.seed = 2;
  CHECK(values_of<double>(draw_candidates(search), "policy.ttl_s") != ttls);
  auto integers = values_of<std::int64_t>(draw_candidates(search_of({few}, 20)), "policy.n");
  std::ranges::sort(integers);
  CHECK(integers == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("choices are drawn equally often") {
  const sweep::TuneKey rule{"policy.ttl_rule", {std::string("fixed"), std::string("utility")}};
  const auto rules = values_of<std::string>(
      draw_candidates(search_of({rule, {"policy.ttl_s", {}, 1, 2}}, 8)), "policy.ttl_rule");
  CHECK(std::ranges::count(rules, "fixed") == 4);
}
