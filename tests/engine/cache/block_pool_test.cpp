#include "workers/engine/cache/block_pool.hpp"

#include "tests/engine/support/tokens.hpp"
#include "tests/support/catch.hpp"

using engine::BlockId;
using engine::BlockPool;
using support::Ids;

namespace {

/// A pool with verbs that read and rearrange its free list as a queue.
struct PoolWorld {
  explicit PoolWorld(int usable) : pool(usable + 1) {}

  Ids free_list() const {
    Ids ids;
    for (BlockId b = pool.free_head(); b != BlockId{0}; b = pool.next_free(b))
      ids.push_back(static_cast<int>(engine::index(b)));
    return ids;
  }
  Ids take(int count) {
    Ids ids;
    pool.take(count, [&](BlockId b) { ids.push_back(static_cast<int>(engine::index(b))); });
    return ids;
  }
  void release(const Ids& ids) {
    for (const int b : ids) pool.release(BlockId{static_cast<std::uint32_t>(b)});
  }
  void touch(int b) { pool.touch(BlockId{static_cast<std::uint32_t>(b)}); }

  BlockPool pool;
};

}  // namespace

TEST_CASE("a new pool allocates its blocks from 1 on, and never the null block", "[block_pool]") {
  PoolWorld world(5);
  CHECK(world.pool.num_usable() == 5);
  CHECK(world.free_list() == Ids{1, 2, 3, 4, 5});
  CHECK(world.take(5) == Ids{1, 2, 3, 4, 5});
  CHECK(world.pool.num_free() == 0);
}

TEST_CASE("a block leaves the middle of the free list and returns at its tail", "[block_pool]") {
  PoolWorld world(5);
  CHECK(world.take(1) == Ids{1});
  world.touch(3);
  CHECK(world.free_list() == Ids{2, 4, 5});
  world.release({3});
  CHECK(world.free_list() == Ids{2, 4, 5, 3});
  CHECK(world.take(4) == Ids{2, 4, 5, 3});
  CHECK(world.free_list().empty());
}

TEST_CASE("blocks are allocated in the order in which they were released", "[block_pool]") {
  PoolWorld world(6);
  world.take(6);
  world.release({2, 4, 6, 5, 1, 3});
  CHECK(world.take(1) == Ids{2});
  CHECK(world.take(2) == Ids{4, 6});
  CHECK(world.take(3) == Ids{5, 1, 3});
}

TEST_CASE("each release appends to the free list", "[block_pool]") {
  PoolWorld world(6);
  world.take(6);
  world.release({1});
  world.release({5, 6});
  world.release({2, 3, 4});
  CHECK(world.free_list() == Ids{1, 5, 6, 2, 3, 4});
  CHECK(world.pool.num_free() == 6);
}

TEST_CASE("blocks taken together are those that would be taken one by one", "[block_pool]") {
  for (const int count : {0, 1, 3, 6}) {
    PoolWorld together(6), alone(6);
    for (PoolWorld* world : {&together, &alone}) {
      world->take(6);
      world->release({2, 4, 6, 5, 1, 3});
    }
    Ids taken;
    together.pool.take(
        count, [&](BlockId block) { taken.push_back(static_cast<int>(engine::index(block))); });
    CHECK(taken == alone.take(count));
    CHECK(together.free_list() == alone.free_list());
    for (const int block : taken)
      CHECK(together.pool.refs(BlockId{static_cast<std::uint32_t>(block)}) == 1);
    together.release(taken);
    alone.release(taken);
    CHECK(together.free_list() == alone.free_list());
    CHECK(together.pool.num_free() == 6);
  }
}

TEST_CASE("the head and the tail of the free list can be touched", "[block_pool]") {
  PoolWorld world(3);
  world.touch(1);
  world.touch(3);
  CHECK(world.free_list() == Ids{2});
  world.touch(2);
  CHECK(world.free_list().empty());
  world.release({3, 1, 2});
  CHECK(world.free_list() == Ids{3, 1, 2});
}

TEST_CASE("a block is free only once its last reference is released", "[block_pool]") {
  PoolWorld world(2);
  world.take(1);
  world.touch(1);
  CHECK(world.pool.refs(BlockId{1}) == 2);
  CHECK_FALSE(world.pool.release(BlockId{1}));
  CHECK(world.free_list() == Ids{2});
  CHECK(world.pool.release(BlockId{1}));
  CHECK(world.free_list() == Ids{2, 1});
}

TEST_CASE("a pool without a usable block is refused", "[block_pool]") {
  CHECK_THROWS_AS(BlockPool(1), std::invalid_argument);
  CHECK_THROWS_AS(BlockPool(0), std::invalid_argument);
}
