#include "workers/engine/cache/prefix_cache.hpp"

#include <map>
#include <set>

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/support/catch.hpp"

using engine::BlockHash;
using engine::BlockId;
using engine::PrefixCache;

namespace {
constexpr BlockHash kKey{1, 7}, kOther{2, 7};  // in the same bucket
constexpr BlockId kFirst{1}, kSecond{2}, kThird{3};
}  // namespace

TEST_CASE("of several blocks with one content the one registered first is found", "[P12]") {
  PrefixCache cache(8);
  cache.insert(kKey, kFirst);
  cache.insert(kOther, kThird);
  cache.insert(kKey, kSecond);
  CHECK(cache.find(kKey) == kFirst);
  CHECK(cache.num_blocks() == 3);
  CHECK(cache.num_hashes() == 2);
}

TEST_CASE("a content is gone with the last block that holds it", "[P12]") {
  PrefixCache cache(8);
  cache.insert(kKey, kFirst);
  cache.insert(kKey, kSecond);
  cache.erase(kFirst);
  CHECK(cache.find(kKey) == kSecond);
  CHECK(cache.num_hashes() == 1);
  cache.erase(kSecond);
  CHECK_FALSE(cache.find(kKey));
  CHECK(cache.num_hashes() == 0);
}

TEST_CASE("a duplicate can be erased before the original", "[P12]") {
  PrefixCache cache(8);
  cache.insert(kKey, kFirst);
  cache.insert(kKey, kSecond);
  cache.erase(kSecond);
  CHECK(cache.find(kKey) == kFirst);
  CHECK(cache.num_hashes() == 1);
  CHECK_FALSE(cache.contains(kSecond));
}

TEST_CASE("both halves of a hash are compared", "[prefix_cache]") {
  PrefixCache cache(4);
  cache.insert({1, 1}, kFirst);
  CHECK_FALSE(cache.find({2, 1}));
  CHECK_FALSE(cache.find({1, 2}));
}

TEST_CASE("the table agrees with a map through random insertions and erasures", "[prefix_cache]") {
  support::Dice dice(11);
  PrefixCache cache(33);
  std::map<int, std::vector<int>> blocks_of;  // by key, oldest first
  std::map<int, int> key_of;
  for (int i = 0; i < 20'000; ++i) {
    const int block = dice.between(1, 32);
    const BlockId id{static_cast<std::uint32_t>(block)};
    if (key_of.contains(block)) {
      std::erase(blocks_of[key_of[block]], block);
      key_of.erase(block);
      cache.erase(id);
    } else {
      const int key = dice.between(0, 9);
      blocks_of[key].push_back(block);
      key_of[block] = key;
      cache.insert({0, static_cast<std::uint64_t>(key) << (key % 2 ? 0 : 6)}, id);
    }
    const int probe = dice.between(0, 9);
    const auto found = cache.find({0, static_cast<std::uint64_t>(probe) << (probe % 2 ? 0 : 6)});
    const auto& expected = blocks_of[probe];
    REQUIRE((found ? static_cast<int>(engine::index(*found)) : 0) ==
            (expected.empty() ? 0 : expected.front()));
    REQUIRE(cache.num_blocks() == static_cast<int>(key_of.size()));
  }
}

TEST_CASE("a block's hash depends on its tokens and on everything before them", "[block_hash]") {
  using support::tokens;
  using support::operator+;
  const auto base = engine::hash_blocks(tokens(48), 16);
  REQUIRE(base.size() == 3);
  for (std::size_t changed = 0; changed < 48; ++changed) {
    auto other = tokens(48);
    other[changed] ^= 1;
    const auto hashes = engine::hash_blocks(other, 16);
    for (std::size_t b = 0; b < 3; ++b) CHECK((hashes[b] == base[b]) == (b < changed / 16));
  }
}

TEST_CASE("a partial block has no hash", "[block_hash]") {
  CHECK(engine::hash_blocks(support::tokens(15), 16).empty());
  CHECK(engine::hash_blocks(support::tokens(16), 16).size() == 1);
  CHECK(engine::hash_blocks(support::tokens(31), 16).size() == 1);
}

TEST_CASE("swapped and shifted tokens and other lengths hash differently", "[block_hash]") {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  int count = 0;
  const auto add = [&](const support::Tokens& block) {
    const BlockHash hash = engine::chain_hash(engine::root_hash(), block);
    seen.insert({hash.high, hash.low});
    ++count;
  };
  for (engine::TokenId a = 0; a < 40; ++a) {
    add({a});
    for (engine::TokenId b = 0; b < 40; ++b) {
      add({a, b});
      add({a, b, 0});
      add({0, a, b, 0});
    }
  }
  CHECK(static_cast<int>(seen.size()) == count);
}
