#include "workers/engine/cache/kv_cache.hpp"

#include "tests/engine/support/kv_world.hpp"
#include "tests/engine/support/num_contents.hpp"
#include "tests/support/catch.hpp"

using namespace support;

TEST_CASE("a shared prefix is hit and freed blocks line up tail first", "[kv_cache]") {
  KvWorld world(11);
  const Tokens common = tokens(48);
  auto& r0 = world.sequence(common + tokens(7, 1));
  CHECK(world.hits(r0).empty());
  REQUIRE(world.admit(r0, 55));
  CHECK(table(r0) == Ids{1, 2, 3, 4});
  CHECK(world.refs(1, 4) == Ids{1, 1, 1, 1});
  CHECK((world.hashed(1) && world.hashed(2) && world.hashed(3) && !world.hashed(4)));

  auto& r1 = world.sequence(common + tokens(5, 2));
  CHECK(world.hits(r1) == Ids{1, 2, 3});
  REQUIRE(world.admit(r1, 5));
  CHECK(table(r1) == Ids{1, 2, 3, 5});
  CHECK(world.refs(1, 3) == Ids{2, 2, 2});
  CHECK(world.kv.num_free() == 5);

  world.free(r0);
  world.free(r1);
  CHECK(world.free_list() == Ids{6, 7, 8, 9, 10, 4, 5, 3, 2, 1});
  auto& r2 = world.sequence(common + tokens(6, 3));
  CHECK(world.hits(r2) == Ids{1, 2, 3});
  REQUIRE(world.admit(r2, 5));
  CHECK(table(r2) == Ids{1, 2, 3, 6});
  CHECK(world.kv.num_free() == 6);

  world.free(r2);
  auto& r3 = world.sequence(tokens(160, 4));
  CHECK(world.hits(r3).empty());
  REQUIRE(world.admit(r3, 160));
  CHECK(table(r3) == Ids{7, 8, 9, 10, 4, 5, 6, 3, 2, 1});
  CHECK(world.kv.num_free() == 0);
}

TEST_CASE("the least recently freed sequence is evicted first and its prefix last", "[kv_cache]") {
  KvWorld world(11);
  auto& r0 = world.admitted(tokens(87));
  auto& r1 = world.admitted(tokens(48, 1));
  CHECK(table(r0) == Ids{1, 2, 3, 4, 5, 6});
  CHECK(table(r1) == Ids{7, 8, 9});
  CHECK(world.kv.num_free() == 1);
  world.free(r0);
  world.free(r1);
  CHECK(world.free_list() == Ids{10, 6, 5, 4, 3, 2, 1, 9, 8, 7});
  auto& r2 = world.sequence(tokens(35));
  CHECK(world.hits(r2) == Ids{1, 2});
  REQUIRE(world.admit(r2, 3));
  CHECK(table(r2) == Ids{1, 2, 10});
  CHECK(world.kv.num_free() == 7);
}

TEST_CASE("with partial blocks first no content is evicted while a block without any is free") {
  // Of two sequences of a full and a partial block each, the second takes the partial block of the
  // first, and an allocation of two blocks then destroys nothing.
  const auto free_list_with = [](bool partial_first) {
    KvWorld world({.num_blocks = 5, .block_size = 4, .partial_blocks_first = partial_first});
    world.free(world.admitted(tokens(6)));
    world.free(world.admitted(tokens(6, 1)));
    return world.free_list();
  };
  CHECK(free_list_with(false) == Ids{2, 1, 4, 3});
  CHECK(free_list_with(true) == Ids{3, 4, 1, 2});
  const auto evicted_with = [](bool partial_first) {
    KvWorld world({.num_blocks = 5, .block_size = 4, .partial_blocks_first = partial_first});
    world.free(world.admitted(tokens(6)));
    world.free(world.admitted(tokens(6, 1)));
    world.admitted(tokens(8, 2));
    return world.kv.evictions().size();
  };
  CHECK(evicted_with(false) == 1);
  CHECK(evicted_with(true) == 0);
}

TEST_CASE("a request never evicts its own hits", "[kv_cache]") {
  KvWorld world(3);
  auto& r0 = world.admitted(tokens(16));
  auto& r1 = world.admitted(tokens(16, 1));
  world.free(r0);
  world.free(r1);
  REQUIRE(world.free_list() == Ids{1, 2});
  auto& r2 = world.sequence(tokens(16) + tokens(16, 1));
  CHECK(world.hits(r2) == Ids{1});
  REQUIRE(world.admit(r2, 16));
  CHECK(table(r2) == Ids{1, 2});
}

TEST_CASE("an allocation that fails changes nothing", "[kv_cache]") {
  KvWorld world(11);
  world.admitted(tokens(48));
  auto& r1 = world.admitted(tokens(96));
  CHECK(table(r1) == Ids{1, 2, 3, 4, 5, 6});
  world.free(r1);
  CHECK(world.refs(1, 6) == Ids{1, 1, 1, 0, 0, 0});
  world.admitted(tokens(32, 1));
  CHECK(world.kv.num_free() == 5);
  const Ids free_before = world.free_list();
  auto& r3 = world.sequence(tokens(144));
  CHECK(world.hits(r3) == Ids{1, 2, 3, 4, 5, 6});
  CHECK_FALSE(world.admit(r3, 48));
  CHECK(world.refs(1, 6) == Ids{1, 1, 1, 0, 0, 0});
  CHECK(world.free_list() == free_before);
  CHECK((table(r3).empty() && world.kv.evictions().empty()));
}

TEST_CASE("a refused admission says how many blocks are missing", "[kv_cache]") {
  KvWorld world(11);
  world.admitted(tokens(112, 1));
  auto& r = world.sequence(tokens(96));
  const auto chunk = world.kv.try_admit(r, {}, 96, 0);
  CHECK(chunk.fit == engine::Fit::out_of_blocks);
  CHECK(chunk.missing_blocks == 3);
  const auto whole = world.kv.try_admit(r, {}, 16, 96);
  CHECK(whole.fit == engine::Fit::sequence_too_long);
  CHECK(whole.missing_blocks == 3);
}

TEST_CASE("a sequence that is fully cached computes its last block again", "[kv_cache]") {
  KvWorld world(11);
  auto& r0 = world.admitted(tokens(48));
  world.free(r0);
  auto& r1 = world.sequence(tokens(48));
  CHECK(world.hits(r1) == Ids{1, 2});
  REQUIRE(world.admit(r1, 16));
  CHECK(table(r1) == Ids{1, 2, 4});
  CHECK((world.hashed(3) && world.hashed(4)));
  CHECK(support::num_contents(world.kv.prefix_cache()) == 3);
  auto& longer = world.sequence(tokens(49));
  CHECK(world.hits(longer) == Ids{1, 2, 3});  // the older of the two
}

TEST_CASE("a cached block that is allocated again loses its content", "[kv_cache]") {
  KvWorld world(2);
  auto& r0 = world.admitted(tokens(16));
  CHECK(world.hashed(1));
  world.free(r0);
  auto& r1 = world.sequence(tokens(15));
  CHECK(world.hits(r1).empty());
  REQUIRE(world.admit(r1, 15));
  CHECK(table(r1) == Ids{1});
  CHECK_FALSE(world.hashed(1));
  REQUIRE(world.kv.evictions().size() == 1);
  CHECK(world.kv.evictions()[0].block == KvWorld::block(1));
}

TEST_CASE("decoding takes a block only when the last one is full", "[kv_cache]") {
  KvWorld world(11);
  auto& r0 = world.admitted(tokens(55));
  CHECK(table(r0) == Ids{1, 2, 3, 4});
  REQUIRE(world.append(r0, tokens(4, 1)));
  CHECK(table(r0) == Ids{1, 2, 3, 4});
  CHECK_FALSE(world.hashed(4));
  REQUIRE(world.append(r0, tokens(19, 2)));
  CHECK(table(r0) == Ids{1, 2, 3, 4, 5});
  CHECK(world.hashed(4));
  CHECK_FALSE(world.hashed(5));
}

TEST_CASE("growth that does not fit changes nothing", "[kv_cache]") {
  KvWorld world(3, 4);
  auto& r0 = world.admitted(tokens(4));
  world.admitted(tokens(4, 1));
  CHECK_FALSE(world.append(r0, tokens(1, 2)));
  CHECK(table(r0) == Ids{1});
  CHECK(world.refs(1, 2) == Ids{1, 1});
}

TEST_CASE("without prefix caching nothing is hit and the pool alone decides", "[kv_cache]") {
  KvWorld world(5, 4, false);
  auto& r1 = world.sequence(tokens(10));
  REQUIRE(world.admit(r1, 10));
  CHECK(table(r1).size() == 3);
  world.free(r1);
  auto& r2 = world.sequence(tokens(16));
  CHECK(world.hits(r2).empty());
  REQUIRE(world.admit(r2, 16));
  CHECK(table(r2).size() == 4);
  auto& r3 = world.sequence(tokens(4, 1));
  CHECK_FALSE(world.admit(r3, 4));
  CHECK(world.kv.prefix_cache().num_blocks() == 0);
}

TEST_CASE("requests of different salt share nothing", "[kv_cache]") {
  KvWorld world(20);
  const Tokens prompt = tokens(59);
  auto& r0 = world.sequence(prompt, 5);
  REQUIRE(world.admit(r0, 59));
  CHECK(world.hits(world.sequence(prompt, 5)).size() == 3);
  CHECK(world.hits(world.sequence(prompt, 6)).empty());
  CHECK(world.hits(world.sequence(prompt)).empty());
}

TEST_CASE("a salt enters at the root of the chain alone", "[kv_cache]") {
  const Tokens prompt = tokens(48);
  const auto hashes = engine::hash_blocks(prompt, 16, 5);
  const auto first = engine::chain_hash(engine::root_hash(5), {prompt.data(), 16});
  CHECK(hashes[0] == first);
  CHECK(hashes[1] == engine::chain_hash(first, {prompt.data() + 16, 16}));
  CHECK_FALSE(hashes[1] == engine::hash_blocks(prompt, 16, 6)[1]);
}

TEST_CASE("a sequence that does not fit as a whole is not begun", "[kv_cache]") {
  KvWorld world(5);
  auto& r = world.sequence(tokens(256));
  CHECK_FALSE(world.admit(r, 16, 256));
  CHECK(world.kv.num_free() == 4);
  REQUIRE(world.admit(r, 16));
  CHECK(table(r) == Ids{1});
}

TEST_CASE("a freed hit counts as a block that an admission needs", "[kv_cache]") {
  KvWorld world(4, 4);
  auto& r0 = world.admitted(tokens(8));
  world.free(r0);
  world.admitted(tokens(4, 1));
  auto& r1 = world.sequence(tokens(12));
  CHECK(world.hits(r1) == Ids{1, 2});
  CHECK(world.kv.num_free() == 2);
  CHECK_FALSE(world.admit(r1, 4));
}

TEST_CASE("blocks that were scheduled but never computed are forgotten", "[kv_cache]") {
  KvWorld world(11, 4);
  auto& r = world.sequence(tokens(16));
  REQUIRE(world.admit(r, 8));
  REQUIRE(world.kv.try_grow(r, 8));
  CHECK(world.hashed(4));
  world.kv.forget_uncomputed(r);
  world.kv.verify();
  CHECK((world.hashed(1) && world.hashed(2) && !world.hashed(3) && !world.hashed(4)));
  CHECK(world.hits(world.sequence(tokens(16))) == Ids{1, 2});
}

TEST_CASE("the census splits the pool by what its blocks are good for", "[kv_cache]") {
  KvWorld world(11, 4);
  auto& kept = world.admitted(tokens(8));
  auto& freed = world.admitted(tokens(6, 1));
  world.admitted(tokens(4, 2));
  world.free(freed);
  world.kv.pin(kept);
  world.kv.verify();
  const auto census = world.kv.census();
  CHECK(census.allocated == 1);
  CHECK(census.pinned == 2);
  CHECK(census.cached == 1);  // the full block of the released sequence
  CHECK(census.empty == 6);
}

TEST_CASE("a pinned block that a request hits counts as allocated until the request releases it",
          "[kv_cache]") {
  KvWorld world(11, 4);
  const auto pin = world.kv.pin(world.admitted(tokens(9)));
  CHECK(world.kv.census().pinned == 3);
  auto& next = world.admitted(tokens(9) + tokens(3, 1));
  CHECK(table(next) == Ids{1, 2, 4});
  CHECK(world.kv.census().pinned == 1);
  world.free(next);
  CHECK(world.kv.census().pinned == 3);
  world.kv.unpin(pin);
  world.kv.verify();
  CHECK(world.free_list() == Ids{5, 6, 7, 8, 9, 10, 4, 3, 2, 1});
}

TEST_CASE("a block of two pins stays until both are gone", "[kv_cache]") {
  KvWorld world(11, 4);
  auto& a = world.admitted(tokens(8) + tokens(1, 1));
  auto& b = world.admitted(tokens(8) + tokens(1, 2));
  const auto pin_a = world.kv.pin(a), pin_b = world.kv.pin(b);
  CHECK(world.kv.census().pinned == 4);
  world.kv.unpin(pin_a);
  world.kv.verify();
  CHECK(world.kv.census().pinned == 3);
  world.kv.unpin(pin_b);
  world.kv.verify();
  CHECK(world.kv.num_free() == 10);
}

TEST_CASE("leading blocks that two requests share have two references", "[kv_cache]") {
  KvWorld world(11, 4);
  auto& a = world.admitted(tokens(8) + tokens(3, 1));
  world.admitted(tokens(8) + tokens(3, 2));
  for (int i = 0; i < 3; ++i)
    CHECK(world.kv.pool().refs(a.blocks[static_cast<std::size_t>(i)]) == (i < 2 ? 2 : 1));
}

TEST_CASE("an eviction names the turn that lost content and the turn that allocated",
          "[kv_cache]") {
  KvWorld world(3, 4);
  auto& old = world.sequence(tokens(8));
  old.spec.job = engine::JobId{7};
  old.spec.turn = 3;
  REQUIRE(world.admit(old, 8));
  world.free(old);
  auto& taker = world.sequence(tokens(4, 1));
  taker.spec.job = engine::JobId{9};
  REQUIRE(world.admit(taker, 4));
  REQUIRE(world.kv.evictions().size() == 1);
  const engine::Eviction lost = world.kv.evictions()[0];
  CHECK((lost.block == KvWorld::block(2) && lost.job == engine::JobId{7} && lost.turn == 3));
  CHECK((lost.by_job == engine::JobId{9} && lost.by_turn == 0));
}

TEST_CASE("a request has numbers kept for all that it may generate, where its hashes are not given",
          "[prefix_cache]") {
  KvWorld world(20);
  const auto contents = [&](engine::Request& request) {
    world.hits(request);
    std::vector<unsigned> all;
    for (const engine::ContentId each : request.contents) all.push_back(engine::index(each));
    return all;
  };
  auto& growing = world.sequence(tokens(40));
  growing.spec.max_tokens = 30;  // to 70 tokens, which are four full blocks
  CHECK(contents(growing) == std::vector<unsigned>{1, 2});
  auto& given = world.sequence(tokens(40, 1));
  given.spec.max_tokens = 30;
  given.spec.known_hashes = given.own_hashes;
  CHECK(contents(given) == std::vector<unsigned>{5, 6});
  auto& next = world.sequence(tokens(16, 2));
  CHECK(contents(next) == std::vector<unsigned>{7});
  REQUIRE(world.admit(growing, 40));
  REQUIRE(world.append(growing, tokens(30, 3)));
  CHECK(contents(growing) == std::vector<unsigned>{1, 2, 3, 4});
}
