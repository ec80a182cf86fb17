// The most hits and the least misses, of small workloads and against exhaustive search.
#include <map>
#include <random>
#include <set>

#include "tests/support/catch.hpp"
#include "workers/bounds/cache_bounds.hpp"

using bounds::Found;
using workload::Workload;

namespace {

constexpr int kFour = 4;  // tokens of a block

struct Lengths {
  int prompt, output;
};

/// A job of the given turns, each of which extends the one before.
workload::Job job_of(engine::TokenId first, const std::vector<Lengths>& turns, int shared = 0) {
  workload::Job job;
  for (const auto& [prompt, output] : turns)
    job.turns.push_back({prompt, output, engine::ToolId::none, std::chrono::seconds(1)});
  for (int at = 0; at < turns.back().prompt + turns.back().output; ++at)
    job.tokens.push_back(at < shared ? 0 : first + static_cast<engine::TokenId>(at));
  return job;
}

Workload workload_of(std::vector<workload::Job> jobs) {
  Workload workload;
  workload.jobs = std::move(jobs);
  return workload;
}

/// Misses of the best of all ways to keep content.
int least_of_all(const std::vector<std::uint32_t>& accesses, std::size_t capacity) {
  std::map<std::set<std::uint32_t>, int> fewest = {{{}, 0}};
  for (const std::uint32_t access : accesses) {
    std::map<std::set<std::uint32_t>, int> next;
    for (const auto& [kept, misses] : fewest) {
      const int now = misses + (kept.contains(access) ? 0 : 1);
      std::set<std::uint32_t> all = kept;
      all.insert(access);
      const std::vector<std::uint32_t> choices(all.begin(), all.end());
      for (unsigned chosen = 0; chosen < 1u << choices.size(); ++chosen) {
        std::set<std::uint32_t> some;
        for (std::size_t i = 0; i < choices.size(); ++i)
          if ((chosen >> i & 1) != 0) some.insert(choices[i]);
        if (some.size() > capacity) continue;
        const auto [known, is_new] = next.try_emplace(some, now);
        known->second = std::min(known->second, now);
      }
    }
    fewest = std::move(next);
  }
  int least = static_cast<int>(accesses.size());
  for (const auto& [kept, misses] : fewest) least = std::min(least, misses);
  return least;
}

}  // namespace

TEST_CASE("each block is computed once, and the last token of each prompt") {
  // Prompts of 8 and 15 tokens, 3 generated after the first: the second turn finds two blocks at
  // most (10 tokens were computed).
  const auto one = workload_of({job_of(1, {{8, 3}, {15, 1}})});
  const auto bound = bounds::most_hits(one, kFour, Found::whole_blocks);
  CHECK(bound.prompt_tokens == 23);
  CHECK(bound.most_tokens == 8);
}

TEST_CASE("a block that a turn generates may be found whenever it is asked for") {
  // The first turn computes 8 + 9 - 1 tokens: the second finds four blocks of its five.
  const auto one = workload_of({job_of(1, {{8, 9}, {21, 1}})});
  CHECK(bounds::most_hits(one, kFour, Found::whole_blocks).most_tokens == 16);
}

TEST_CASE("of jobs that share a prefix all but one find it") {
  const auto three =
      workload_of({job_of(100, {{9, 1}}, 8), job_of(200, {{9, 1}}, 8), job_of(300, {{9, 1}}, 8)});
  CHECK(bounds::most_hits(three, kFour, Found::whole_blocks).most_tokens == 2 * 8);
  // Of a prompt of two whole blocks the second one holds the last token.
  const auto even = workload_of({job_of(100, {{8, 1}}, 8), job_of(200, {{8, 1}}, 8)});
  CHECK(bounds::most_hits(even, kFour, Found::whole_blocks).most_tokens == 4);
  CHECK(bounds::most_hits(even, kFour, Found::tokens).most_tokens == 7);
}

TEST_CASE("MIN drops what is used last, and what it accesses where that is used last") {
  // a1 a2 a3 | b1 b2 | a1 a2 a3 a4 | b1 b2 b3
  const std::vector<std::uint32_t> turns = {1, 2, 3, 11, 12, 1, 2, 3, 4, 11, 12, 13};
  CHECK(bounds::least_misses(turns, 3) == 9);
  CHECK(bounds::least_misses(turns, 4) == 8);
  CHECK(bounds::least_misses(turns, 5) == 7);
  CHECK(bounds::least_misses(turns, 0) == 12);
}

TEST_CASE("MIN misses as little as the best of all ways to keep content or let it pass") {
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    std::vector<std::uint32_t> accesses(1 + random() % 12);
    for (std::uint32_t& access : accesses) access = static_cast<std::uint32_t>(random() % 5);
    const std::size_t capacity = random() % 5;
    REQUIRE(bounds::least_misses(accesses, static_cast<std::int64_t>(capacity)) ==
            least_of_all(accesses, capacity));
  }
}

TEST_CASE("turns one after another miss what MIN misses of their blocks") {
  // The turns of the example above, each with a token more, which is never looked for.
  const auto workload =
      workload_of({job_of(100, {{13, 1}, {17, 1}}), job_of(200, {{9, 1}, {13, 1}})});
  const std::vector<bounds::Served> turns = {
      {0, 0, 0, 1}, {1, 0, 2, 3}, {0, 1, 4, 5}, {1, 1, 6, 7}};
  const auto misses = [&](std::int64_t capacity) {
    return bounds::TurnBlocks(workload, kFour).least_misses(turns, capacity);
  };
  CHECK(misses(5).looked_for == 12);
  CHECK(misses(5).compulsory == 7);
  CHECK(misses(5).least == 7);
  CHECK(misses(4).least == 8);
  CHECK(misses(3).least == 9);
}

TEST_CASE("what a turn in progress has is found without room to keep it") {
  const auto workload = workload_of({job_of(100, {{9, 4}}, 8), job_of(200, {{9, 1}}, 8)});
  const bounds::TurnBlocks blocks(workload, kFour);
  const std::vector<bounds::Served> together = {{0, 0, 0, 5}, {1, 0, 2, 3}};
  CHECK(blocks.least_misses(together, 0).least == 2);
  const std::vector<bounds::Served> apart = {{0, 0, 0, 5}, {1, 0, 6, 7}};
  CHECK(blocks.least_misses(apart, 0).least == 4);
  // In the step that follows the last one it is still there.
  const std::vector<bounds::Served> at_once = {{0, 0, 0, 5}, {1, 0, 5, 7}};
  CHECK(blocks.least_misses(at_once, 0).least == 2);
}
