#include "workers/engine/cache/hashed_blocks.hpp"

#include <map>

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/support/catch.hpp"

using engine::BlockHash;
using engine::BlockId;
using engine::HashedBlocks;

namespace {
constexpr BlockHash kKey{1, 7}, kOther{2, 7};  // in the same bucket
constexpr BlockId kFirst{1}, kSecond{2}, kThird{3};
}  // namespace

TEST_CASE("of several blocks with one content the one inserted first is found", "[hashed_blocks]") {
  HashedBlocks table(8);
  table.insert(kKey, kFirst);
  table.insert(kOther, kThird);
  table.insert(kKey, kSecond);
  CHECK(table.find(kKey) == kFirst);
  CHECK(table.num_blocks() == 3);
}

TEST_CASE("the table finds a content until the last block that holds it is erased",
          "[hashed_blocks]") {
  HashedBlocks table(8);
  table.insert(kKey, kFirst);
  table.insert(kKey, kSecond);
  table.erase(kFirst);
  CHECK(table.find(kKey) == kSecond);
  table.erase(kSecond);
  CHECK_FALSE(table.find(kKey));
}

TEST_CASE("the table erases a duplicate before the original", "[hashed_blocks]") {
  HashedBlocks table(8);
  table.insert(kKey, kFirst);
  table.insert(kKey, kSecond);
  table.erase(kSecond);
  CHECK(table.find(kKey) == kFirst);
  CHECK_FALSE(table.contains(kSecond));
}

TEST_CASE("both halves of a hash are compared", "[hashed_blocks]") {
  HashedBlocks table(4);
  table.insert({1, 1}, kFirst);
  CHECK_FALSE(table.find({2, 1}));
  CHECK_FALSE(table.find({1, 2}));
}

TEST_CASE("the table agrees with a map through random insertions and erasures", "[hashed_blocks]") {
  support::Dice dice(11);
  HashedBlocks table(33);
  std::map<int, std::vector<int>> blocks_of;  // by key, oldest first
  std::map<int, int> key_of;
  for (int i = 0; i < 20'000; ++i) {
    const int block = dice.between(1, 32);
    const BlockId id{static_cast<std::uint32_t>(block)};
    if (key_of.contains(block)) {
      std::erase(blocks_of[key_of[block]], block);
      key_of.erase(block);
      table.erase(id);
    } else {
      const int key = dice.between(0, 9);
      blocks_of[key].push_back(block);
      key_of[block] = key;
      table.insert({0, static_cast<std::uint64_t>(key) << (key % 2 ? 0 : 6)}, id);
    }
    const int probe = dice.between(0, 9);
    const auto found = table.find({0, static_cast<std::uint64_t>(probe) << (probe % 2 ? 0 : 6)});
    const auto& expected = blocks_of[probe];
    REQUIRE((found ? static_cast<int>(engine::index(*found)) : 0) ==
            (expected.empty() ? 0 : expected.front()));
    REQUIRE(table.num_blocks() == static_cast<int>(key_of.size()));
  }
}
