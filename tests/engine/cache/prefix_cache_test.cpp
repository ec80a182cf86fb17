#include "workers/engine/cache/prefix_cache.hpp"

#include <map>
#include <set>

#include "tests/engine/support/fuzz_case.hpp"
#include "tests/engine/support/num_contents.hpp"
#include "tests/support/catch.hpp"

using engine::BlockHash;
using engine::BlockId;
using engine::ContentId;
using engine::PrefixCache;

namespace {

constexpr BlockId kOne{1}, kTwo{2}, kThree{3};

/// Sequences of one-token blocks over a cache.
struct Sequences {
  /// The contents of a sequence that may have so many blocks at the end.
  std::vector<ContentId> number(const support::Tokens& tokens, std::size_t most = 0) {
    std::vector<ContentId> contents;
    extend(contents, tokens, most);
    return contents;
  }
  void extend(std::vector<ContentId>& contents, const support::Tokens& tokens,
              std::size_t most = 0) {
    cache.number_contents(contents, engine::hash_blocks(tokens, 1), most);
  }
  std::vector<ContentId> known(const support::Tokens& tokens) const {
    std::vector<ContentId> contents;
    for (const BlockHash& hash : engine::hash_blocks(tokens, 1))
      contents.push_back(
          cache.content_after(contents.empty() ? ContentId::none : contents.back(), hash));
    return contents;
  }
  PrefixCache cache{33};
};

std::vector<ContentId> ids(std::initializer_list<std::uint32_t> numbers) {
  std::vector<ContentId> all;
  for (const std::uint32_t n : numbers) all.push_back(ContentId{n});
  return all;
}

}  // namespace

TEST_CASE("the contents of a sequence are numbered consecutively", "[prefix_cache]") {
  Sequences world;
  CHECK(world.number({5, 6, 7}) == ids({1, 2, 3}));
  CHECK(world.number({5, 6, 7, 8}) == ids({1, 2, 3, 4}));
}

TEST_CASE("sequences share the numbers of their common prefix alone", "[prefix_cache]") {
  Sequences world;
  world.number({5, 6, 7});
  CHECK(world.number({5, 9, 7}) == ids({1, 4, 5}));
  CHECK(world.number({9, 6, 7}) == ids({6, 7, 8}));
  CHECK(world.number({5, 6, 7, 8}) == ids({1, 2, 3, 9}));
  CHECK(world.number({5, 9, 7, 8}) == ids({1, 4, 5, 10}));
}

TEST_CASE("a sequence that grows has the numbers kept for it", "[prefix_cache]") {
  Sequences world;
  auto growing = world.number({5, 6}, 4);
  CHECK(world.number({9}) == ids({5}));
  world.extend(growing, {5, 6, 7});
  CHECK(growing == ids({1, 2, 3}));
  world.extend(growing, {5, 6, 7, 8, 4});  // longer than was said
  CHECK(growing == ids({1, 2, 3, 4, 6}));
}

TEST_CASE("the first sequence that goes on has the numbers kept behind a shared prefix",
          "[prefix_cache]") {
  Sequences world;
  auto one = world.number({5, 6}, 4), other = one;
  world.extend(other, {5, 6, 8}, 4);
  CHECK(other == ids({1, 2, 3}));
  world.extend(one, {5, 6, 7}, 4);
  CHECK(one == ids({1, 2, 5}));
  CHECK(world.known({5, 6, 8}) == other);
  CHECK(world.known({5, 6, 7}) == one);
}

TEST_CASE("to ask for a content does not number it", "[prefix_cache]") {
  Sequences world;
  world.number({5, 6});
  CHECK(world.known({5, 6, 7}) == ids({1, 2, 0}));
  CHECK(world.known({6}) == ids({0}));
  CHECK(world.number({5, 6, 7}) == ids({1, 2, 3}));
}

TEST_CASE("equal contents have equal numbers in random sequences that grow", "[prefix_cache]") {
  struct Sequence {
    support::Tokens tokens{};
    std::vector<ContentId> contents{};
    std::size_t most = 0;
  };
  support::Dice dice(7);
  Sequences world;
  std::vector<Sequence> sequences;
  std::map<support::Tokens, ContentId> numbers;
  for (int i = 0; i < 2'000; ++i) {
    if (sequences.empty() || dice.one_in(3))
      sequences.push_back({.most = static_cast<std::size_t>(dice.between(0, 9))});
    Sequence& grown = sequences[static_cast<std::size_t>(
        dice.between(0, static_cast<int>(sequences.size()) - 1))];
    for (int n = dice.between(1, 3); n > 0 && grown.tokens.size() < 9; --n)
      grown.tokens.push_back(static_cast<engine::TokenId>(dice.between(0, 2)));
    world.extend(grown.contents, grown.tokens, grown.most);
    REQUIRE(grown.contents.size() == grown.tokens.size());
    for (std::size_t n = 1; n <= grown.tokens.size(); ++n) {
      const support::Tokens prefix(grown.tokens.begin(),
                                   grown.tokens.begin() + static_cast<int>(n));
      REQUIRE(numbers.try_emplace(prefix, grown.contents[n - 1]).first->second ==
              grown.contents[n - 1]);
    }
    REQUIRE(world.known(grown.tokens) == grown.contents);
  }
  std::set<ContentId> different;
  for (const auto& [tokens, number] : numbers) different.insert(number);
  CHECK(different.size() == numbers.size());
}

TEST_CASE("of several blocks with one content the one registered first is found",
          "[prefix_cache]") {
  Sequences world;
  const auto [key, other] = std::pair(world.number({1})[0], world.number({2})[0]);
  world.cache.insert(key, kOne);
  world.cache.insert(other, kThree);
  world.cache.insert(key, kTwo);
  CHECK(world.cache.find(key) == kOne);
  CHECK(world.cache.num_blocks() == 3);
  CHECK(support::num_contents(world.cache) == 2);
}

TEST_CASE("a content is gone with the last block that holds it", "[prefix_cache]") {
  Sequences world;
  const ContentId key = world.number({1})[0];
  world.cache.insert(key, kOne);
  world.cache.insert(key, kTwo);
  world.cache.erase(kOne);
  CHECK(world.cache.find(key) == kTwo);
  CHECK(support::num_contents(world.cache) == 1);
  world.cache.erase(kTwo);
  CHECK_FALSE(world.cache.find(key));
  CHECK(support::num_contents(world.cache) == 0);
}

TEST_CASE("a duplicate can be erased before the original", "[prefix_cache]") {
  Sequences world;
  const ContentId key = world.number({1})[0];
  world.cache.insert(key, kOne);
  world.cache.insert(key, kTwo);
  world.cache.erase(kTwo);
  CHECK(world.cache.find(key) == kOne);
  CHECK(support::num_contents(world.cache) == 1);
  CHECK_FALSE(world.cache.contains(kTwo));
}

TEST_CASE("the cache agrees with a map through random insertions and erasures", "[prefix_cache]") {
  support::Dice dice(11);
  Sequences world;
  const auto contents = world.number(support::tokens(10));
  std::map<ContentId, std::vector<BlockId>> blocks_of;  // oldest first
  std::map<BlockId, ContentId> content_of;
  for (int i = 0; i < 20'000; ++i) {
    const BlockId block{static_cast<std::uint32_t>(dice.between(1, 32))};
    if (content_of.contains(block)) {
      std::erase(blocks_of[content_of[block]], block);
      content_of.erase(block);
      world.cache.erase(block);
    } else {
      const ContentId content = contents[static_cast<std::size_t>(dice.between(0, 9))];
      blocks_of[content].push_back(block);
      content_of[block] = content;
      world.cache.insert(content, block);
    }
    const ContentId probe = contents[static_cast<std::size_t>(dice.between(0, 9))];
    const auto& expected = blocks_of[probe];
    REQUIRE(world.cache.find(probe) ==
            (expected.empty() ? std::nullopt : std::optional(expected.front())));
    REQUIRE(world.cache.num_blocks() == static_cast<int>(content_of.size()));
    for (const auto& [held, content] : content_of) REQUIRE(world.cache.finds(held));
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
