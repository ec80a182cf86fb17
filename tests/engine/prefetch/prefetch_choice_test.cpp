// Which KV is loaded before its turn arrives, and which is evicted for it.
#include "tests/engine/prefetch/prefetch_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using namespace prefetch_test;

TEST_CASE("the job that is served last loses the tail of its KV and keeps a prefix", "[prefetch]") {
  PrefetchWorld world({.gpu_blocks = 8});
  world.timetable.returns[JobId{0}] = 300ms;
  world.timetable.returns[JobId{1}] = 900ms;
  world.serve(0, kB);  // three blocks each
  world.serve(1, tokens(49, 4));
  world.idle_until(50ms);
  world.serve(2, tokens(47, 5), true);  // needs one block that another request holds
  CHECK(world.blocks_of(KvEventKind::evict_gpu, KvReason::out_of_blocks, 0) == 0);
  CHECK(world.blocks_of(KvEventKind::evict_gpu, KvReason::out_of_blocks, 1) == 1);
  const auto soon = world.serve(0, kB);
  CHECK((soon.prefix_hit_tokens == 48 && soon.host_hit_tokens == 0));
}

TEST_CASE("only the evicted tail of a job is loaded", "[prefetch]") {
  PrefetchWorld world({.gpu_blocks = 8});
  world.timetable.returns[JobId{0}] = 300ms;
  world.serve(0, tokens(65, 2));
  world.idle_until(50ms);
  world.serve(2, tokens(96, 5), true);  // needs two of the four
  REQUIRE(world.blocks_of(KvEventKind::evict_gpu, KvReason::out_of_blocks, 0) == 2);
  world.idle_until(300ms);
  CHECK(world.blocks_of(KvEventKind::prefetch, KvReason::deadline, 0) == 2);
  CHECK(world.serve(0, tokens(65, 2)).prefix_hit_tokens == 64);
}

TEST_CASE("the job that returns first is loaded first", "[prefetch]") {
  PrefetchWorld world({.gpu_blocks = 8});
  world.timetable.returns[JobId{0}] = 400ms;
  world.timetable.returns[JobId{1}] = 300ms;
  world.serve(0, kA);
  world.serve(1, tokens(33, 4));
  world.idle_until(50ms);
  world.serve(2, tokens(127, 5), true);
  world.idle_until(400ms);
  std::vector<int> order;
  for (const Seen& e : world.seen)
    if (e.kind == KvEventKind::prefetch && e.reason == KvReason::deadline) order.push_back(e.job);
  CHECK(order == std::vector{1, 0});
}

TEST_CASE("a load on demand overtakes loads that no turn waits for", "[prefetch]") {
  PrefetchWorld world({.gpu_blocks = 12, .quantum = 1});
  world.timetable.returns[JobId{0}] = 300ms;
  world.serve(0, tokens(97, 2));  // six blocks
  world.serve(1, kA);             // no prediction for it
  world.idle_until(50ms);
  world.serve(2, tokens(191, 5), true);
  while (world.blocks_of(KvEventKind::prefetch, KvReason::deadline, 0) == 0 &&
         world.clock().now() < 1s)
    world.idle_until(world.clock().now() + 100us);
  const auto turn = world.serve(1, kA);
  CHECK(turn.host_hit_tokens == 32);
  CHECK(turn.time.load_stall <= 3ms);  // its two blocks behind the one in flight
}

TEST_CASE("nothing is loaded that does not pay, or without a prediction", "[prefetch]") {
  for (const bool predicted : {true, false}) {
    PrefetchWorld world;
    world.timetable.worth = 0;
    if (predicted) world.timetable.returns[JobId{0}] = 200ms;
    give_up(world);
    world.idle_until(200ms);
    CHECK(world.serve(0, kA).host_hit_tokens == 32);
    CHECK(world.first(KvEventKind::prefetch, KvReason::deadline) == nullptr);
  }
}

TEST_CASE("nothing is loaded while the link is busy for longer than a recomputation takes",
          "[prefetch]") {
  PrefetchWorld world({.gpu_blocks = 12});
  world.timetable.recompute = 1e-6;
  world.serve(0, tokens(97, 2));
  world.serve(1, kA);
  world.idle_until(50ms);
  world.serve(2, tokens(191, 5), true);
  const auto first = world.arrive(0, tokens(97, 2));
  world.arrive(1, kA);
  CHECK(world.run(first).host_hit_tokens == 96);
  CHECK(world.blocks_of(KvEventKind::load, KvReason::demand, 1) == 0);
}

TEST_CASE("with a ranked host tier, what is wanted last is evicted first", "[prefetch]") {
  for (const bool ranks : {true, false}) {
    PrefetchWorld world({.gpu_blocks = 12, .host_blocks = 4});
    world.timetable.ranks = ranks;
    world.timetable.returns[JobId{0}] = 300ms;
    world.timetable.returns[JobId{1}] = 100s;
    world.timetable.returns[JobId{2}] = 20s;
    world.serve(0, kA);
    world.serve(1, tokens(33, 4));
    world.idle_until(50ms);
    world.serve(2, tokens(33, 5));
    world.idle_until(100ms);
    const auto unread = KvReason::unread;
    CHECK(world.blocks_of(KvEventKind::evict_host, unread, ranks ? 1 : 0) == 2);
    CHECK(world.blocks_of(KvEventKind::evict_host, unread, ranks ? 0 : 1) == 0);
  }
}
