// Belady's MIN by its definition: what it drops, the leaf rule that it keeps, and what it misses
// against the bound, exhaustive search and vLLM's order.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/engine/support/kv_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/bounds/cache_bounds.hpp"

using support::operator+;

namespace {

/// A block of a chain: its context, and its place there, from 1. "a2" is the second block of a.
struct Block {
  char context;
  int depth;
  auto operator<=>(const Block&) const = default;
};

/// Each turn reads the first blocks of a context.
struct ReadTurn {
  char context;
  int blocks;
};

const std::vector<ReadTurn> kExample = {{'a', 3}, {'b', 2}, {'a', 4}, {'b', 3}};

std::vector<Block> accesses_of(const std::vector<ReadTurn>& turns) {
  std::vector<Block> all;
  for (const auto& [context, blocks] : turns)
    for (int depth = 1; depth <= blocks; ++depth) all.push_back({context, depth});
  return all;
}

struct Played {
  int misses = 0;
  std::vector<Block> dropped;
  bool leaves_alone = true;  // no block was dropped before one that continues it
};

/// Drops what is accessed last, of equals the deepest, where what is accessed now may be dropped.
Played play_min(const std::vector<Block>& accesses, std::size_t capacity) {
  Played played;
  std::set<Block> kept;
  for (auto now = accesses.begin(); now != accesses.end(); ++now) {
    played.misses += kept.insert(*now).second ? 1 : 0;
    if (kept.size() <= capacity) continue;
    const auto used_last = [&](const Block& block) {
      return std::pair(std::find(now + 1, accesses.end(), block), block.depth);
    };
    const Block drop = *std::ranges::max_element(kept, {}, used_last);
    kept.erase(drop);
    played.dropped.push_back(drop);
    played.leaves_alone &= std::ranges::none_of(kept, [&](const Block& other) {
      return other.context == drop.context && other.depth > drop.depth;
    });
  }
  return played;
}

std::string text_of(const std::vector<Block>& blocks) {
  std::string text;
  for (const auto& [context, depth] : blocks)
    text += (text.empty() ? "" : " ") + std::string(1, context) + std::to_string(depth);
  return text;
}

std::int64_t bound_of(const std::vector<Block>& accesses, std::size_t capacity) {
  std::vector<std::uint32_t> numbers;
  for (const auto& [context, depth] : accesses)
    numbers.push_back(static_cast<std::uint32_t>(100 * context + depth));
  return bounds::least_misses(numbers, static_cast<std::int64_t>(capacity));
}

}  // namespace

TEST_CASE("MIN drops the never used again first, from the end, and may drop what it reads") {
  const auto accesses = accesses_of(kExample);
  CHECK(text_of(play_min(accesses, 3).dropped) == "b1 b2 a4 a3 a2 b3");
  CHECK(text_of(play_min(accesses, 4).dropped) == "b2 a4 a3 b3");
  CHECK(text_of(play_min(accesses, 5).dropped) == "a4 a3");
  for (const auto& [capacity, misses] : std::map<std::size_t, int>{{3, 9}, {4, 8}, {5, 7}}) {
    CHECK(play_min(accesses, capacity).misses == misses);
    CHECK(bound_of(accesses, capacity) == misses);
  }
}

TEST_CASE("MIN never drops a block before one that continues it, and misses what the bound says") {
  std::mt19937 random(31);
  for (int i = 0; i < 500; ++i) {
    std::vector<ReadTurn> turns;
    for (auto n = 2 + random() % 6; n > 0; --n)
      turns.push_back({"abc"[random() % 3], static_cast<int>(1 + random() % 5)});
    const auto accesses = accesses_of(turns);
    const std::size_t capacity = random() % 8;
    const Played played = play_min(accesses, capacity);
    REQUIRE(played.leaves_alone);
    REQUIRE(bound_of(accesses, capacity) == played.misses);
  }
}

TEST_CASE("vLLM's order misses 8 of the blocks of which MIN misses 7") {
  // A block more than MIN has is for the token behind each prompt, which every turn computes.
  support::KvWorld world(1 + 5 + 1, 4);
  const auto prompt = [](const ReadTurn& turn) {
    return support::tokens(4 * turn.blocks, turn.context) + support::tokens(1, 999);
  };
  int missed = 0;
  std::vector<int> by_turn;
  for (const ReadTurn& turn : kExample) {
    engine::Request& request = world.sequence(prompt(turn));
    by_turn.push_back(turn.blocks - static_cast<int>(world.hits(request).size()));
    missed += by_turn.back();
    REQUIRE(world.admit(request, request.num_prompt() - 4 * (turn.blocks - by_turn.back())));
    // b2 goes for a4.
    if (by_turn.size() == 3) CHECK(world.hits(world.sequence(prompt({'b', 2}))).size() == 1);
    world.free(request);
  }
  CHECK(by_turn == std::vector{3, 2, 1, 2});
  CHECK(missed == 8);
  CHECK(bound_of(accesses_of(kExample), 5) == 7);
}
