#include "workers/workload/trace/play.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

using namespace workload;

namespace {

std::vector<std::string> in_order(JobOrder order, const std::vector<std::string>& ids,
                                  std::uint64_t seed = 7) {
  std::vector<std::string> ordered;
  for (const std::size_t position : order_of_choice(order, seed, ids))
    ordered.push_back(ids[position]);
  return ordered;
}

const std::vector<std::string> kIds{"d", "a", "c", "b", "f", "e"};

}  // namespace

TEST_CASE("jobs are taken as the file has them, or by id", "[curation]") {
  CHECK(in_order(JobOrder::file, kIds) == kIds);
  CHECK(in_order(JobOrder::id, kIds) == std::vector<std::string>{"a", "b", "c", "d", "e", "f"});
}

TEST_CASE("a shuffle depends on the seed and the ids, not on the file's order", "[curation]") {
  std::vector<std::string> reversed(kIds.rbegin(), kIds.rend());
  const std::vector<std::string> shuffled = in_order(JobOrder::shuffled, kIds);
  CHECK(in_order(JobOrder::shuffled, reversed) == shuffled);
  CHECK(std::is_permutation(shuffled.begin(), shuffled.end(), kIds.begin()));
  CHECK(in_order(JobOrder::shuffled, kIds, 8) != shuffled);
}

TEST_CASE("every position of a shuffle is about equally likely", "[curation]") {
  constexpr int kSeeds = 6000;
  int first_is_a = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto shuffled = in_order(JobOrder::shuffled, kIds, static_cast<std::uint64_t>(seed));
    first_is_a += shuffled.front() == "a" ? 1 : 0;
  }
  CHECK(first_is_a == Approx(kSeeds / 6.0).epsilon(0.12));  // 4 standard deviations
}
