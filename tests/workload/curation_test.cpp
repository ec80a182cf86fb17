#include "workers/workload/curation.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using namespace workload;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> in_order(const Curation& rule, const std::vector<std::string>& ids) {
  std::vector<std::string> ordered;
  for (const std::size_t position : order_of_choice(rule, ids)) ordered.push_back(ids[position]);
  return ordered;
}

const std::vector<std::string> kIds{"d", "a", "c", "b", "f", "e"};

}  // namespace

TEST_CASE("jobs are taken as the file has them, or by id", "[curation]") {
  CHECK(in_order({.order = JobOrder::file}, kIds) == kIds);
  CHECK(in_order({.order = JobOrder::id}, kIds) ==
        std::vector<std::string>{"a", "b", "c", "d", "e", "f"});
}

TEST_CASE("a shuffle depends on the seed and the ids, not on the file's order", "[curation]") {
  const Curation rule{.order = JobOrder::shuffled, .seed = 7};
  std::vector<std::string> reversed(kIds.rbegin(), kIds.rend());
  const std::vector<std::string> shuffled = in_order(rule, kIds);
  CHECK(in_order(rule, reversed) == shuffled);
  CHECK(std::is_permutation(shuffled.begin(), shuffled.end(), kIds.begin()));
  CHECK(in_order({.order = JobOrder::shuffled, .seed = 8}, kIds) != shuffled);
}

TEST_CASE("every position of a shuffle is about equally likely", "[curation]") {
  constexpr int kSeeds = 6000;
  int first_is_a = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Curation rule{.order = JobOrder::shuffled, .seed = static_cast<std::uint64_t>(seed)};
    first_is_a += in_order(rule, kIds).front() == "a" ? 1 : 0;
  }
  CHECK(first_is_a == Approx(kSeeds / 6.0).epsilon(0.12));  // 4 standard deviations
}

TEST_CASE("the turn range is inclusive and counts what it rejects", "[curation]") {
  const Curation rule{.min_turns = 10, .max_turns = 30};
  Rejections rejected;
  CHECK(passes_turn_range(rule, 10, rejected));
  CHECK(passes_turn_range(rule, 30, rejected));
  CHECK_FALSE(passes_turn_range(rule, 9, rejected));
  CHECK_FALSE(passes_turn_range(rule, 31, rejected));
  CHECK_FALSE(passes_turn_range(rule, 32, rejected));
  CHECK(rejected == Rejections{.too_few_turns = 1, .too_many_turns = 2});
  CHECK(describe(rejected) == "1 with too few turns, 2 with too many turns");
}

TEST_CASE("a rule that no job can pass is refused with the value found", "[curation]") {
  CHECK_THROWS_WITH(check({.count = 0}), Contains("count is 0; allowed: 1 or more"));
  CHECK_THROWS_WITH(check({.min_turns = -1}), Contains("min_turns is -1"));
  CHECK_THROWS_WITH(check({.min_turns = 10, .max_turns = 9}),
                    Contains("max_turns is 9") && Contains("(10)"));
  CHECK_THROWS_WITH(check({.max_context = 0}), Contains("max_context is 0"));
  CHECK_NOTHROW(check(Curation{}));
}
