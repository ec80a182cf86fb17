#include "analysis/capacity/search.hpp"

#include <random>

#include "tests/support/catch.hpp"

using namespace analysis;

namespace {

using Meets = std::function<bool(double load, int seed)>;

SearchRules rules_to(double most, int seeds = 3) {
  return {loads_between(1, most, 0.1, true), seeds};
}

RowSearch search(const SearchRules& rules, const Meets& meets) {
  return search_row(rules, [&](const Question& question) -> std::optional<bool> {
    return meets(rules.loads[question.load], question.seed);
  });
}

/// The largest load below the first that misses, by trying every load.
double by_brute_force(const SearchRules& rules, const Meets& meets, int seed) {
  double most = 0;
  for (const double load : rules.loads) {
    if (!meets(load, seed)) break;
    most = load;
  }
  return most;
}

}  // namespace

TEST_CASE("loads ascend by the step, in whole numbers or three digits, with those of the axis") {
  CHECK(loads_between(1, 8, 0.1, true) == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(loads_between(20, 30, 0.1, true) == std::vector<double>{20, 22, 24, 26, 29, 30});
  CHECK(loads_between(20, 30, 0.1, true, {25, 100}) ==
        std::vector<double>{20, 22, 24, 25, 26, 29, 30});
  CHECK(loads_between(1, 1.5, 0.2, false) == std::vector<double>{1, 1.2, 1.44, 1.5});
}

TEST_CASE("the search finds what every load would show, for every limit and with a few cells") {
  const SearchRules rules = rules_to(512);
  for (int limit = 1; limit < 512; ++limit) {
    const Meets meets = [&](double load, int) { return load <= limit; };
    const RowSearch row = search(rules, meets);
    REQUIRE(row.is_over());
    REQUIRE(row.capacities(rules).at(0) == by_brute_force(rules, meets, 0));
    REQUIRE(row.asked.size() <= 3 * 15);
  }
}

TEST_CASE("a range in which every load meets, or none does, is over at its end") {
  const SearchRules rules = rules_to(64);
  const RowSearch all = search(rules, [](double, int) { return true; });
  CHECK(all.all_meet(rules));
  CHECK_FALSE(all.none_meets());
  const RowSearch none = search(rules, [](double, int) { return false; });
  CHECK(none.none_meets());
  CHECK(none.asked.size() == 3);
  CHECK(none.capacities(rules).at(2) == 0);
}

TEST_CASE("a capacity is cut off where any seed meets the largest load") {
  const SearchRules rules = rules_to(64);
  const auto meets_up_to = [&](double second) {
    return search(rules, [=](double load, int seed) { return load <= (seed == 1 ? second : 20); });
  };
  CHECK(meets_up_to(64).is_cut_off(rules));
  CHECK_FALSE(meets_up_to(64).all_meet(rules));
  CHECK_FALSE(meets_up_to(40).is_cut_off(rules));
}

TEST_CASE("a smaller load that misses bounds the answer, and larger ones that meet are told") {
  const std::vector<double> loads = rules_to(64).loads;
  const auto search_by_number = [&](const std::function<bool(std::size_t)>& meets) {
    return search({loads, 3}, [&](double load, int) { return meets(load_below(loads, load)); });
  };
  const SeedAnswers below =
      search_by_number([](std::size_t load) { return load <= 15 && load != 13; }).seeds[0];
  CHECK(below.most() == 12);
  CHECK(below.miss() == 13);
  CHECK_FALSE(below.above().empty());
  const SeedAnswers again = search_by_number([](std::size_t load) {
                              return load <= 15 || load == 18 || load == 19;
                            }).seeds[0];
  CHECK(again.most() == 15);
  CHECK(again.met.at(18));
}

TEST_CASE("where one seed is not monotone, no seed's answer hides a miss in its upper half") {
  const SearchRules rules = rules_to(200);
  const Meets meets = [](double load, int seed) {
    if (seed == 0)
      return load <= 81 || load == 108;  // which is looked at, two loads above the miss
    return load <= 131 && !(seed == 1 && load == 81);
  };
  const RowSearch row = search(rules, meets);
  REQUIRE(row.is_over());
  for (int seed = 0; seed < 3; ++seed)
    CHECK(row.capacities(rules).at(seed) == by_brute_force(rules, meets, seed));
}

TEST_CASE("more seeds are asked for only where the interval is wider than a load") {
  const SearchRules rules = rules_to(512, 10);
  const auto capacity = [](int wide) {
    return [wide](double load, int seed) { return load <= 100 + wide * (seed % 3 - 1); };
  };
  CHECK(search(rules, capacity(0)).seeds.size() == 3);
  const RowSearch wide = search(rules, capacity(40));
  CHECK(wide.seeds.size() == 10);
  // They start at the mean of the first three and need fewer cells.
  const auto cells = [&](int seed) {
    return std::ranges::count(wide.asked, seed, &Question::seed);
  };
  CHECK(cells(7) < cells(1));
}

TEST_CASE("a search that is killed anywhere asks for the same cells and has the same answer") {
  const SearchRules rules = rules_to(200, 7);
  const Meets meets = [](double load, int seed) {
    std::mt19937 random(static_cast<unsigned>(1000 * seed + static_cast<int>(load)));
    return load + static_cast<double>(random() % 30) < 90;
  };
  const RowSearch whole = search(rules, meets);
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    // Each round stores some of the cells that it was asked for, in any order.
    std::map<Question, bool> stored;
    RowSearch row;
    for (;;) {
      row = search_row(rules, [&](const Question& question) -> std::optional<bool> {
        const auto found = stored.find(question);
        return found == stored.end() ? std::nullopt : std::optional(found->second);
      });
      if (row.is_over()) break;
      const Question& one = row.open[random() % row.open.size()];
      stored[one] = meets(rules.loads[one.load], one.seed);
    }
    REQUIRE(row.asked == whole.asked);
    REQUIRE(row.capacities(rules) == whole.capacities(rules));
    REQUIRE(stored.size() == whole.asked.size());
  }
}
