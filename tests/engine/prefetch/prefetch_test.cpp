// KV that is loaded before its turn arrives.
#include "tests/engine/prefetch/prefetch_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using namespace prefetch_test;

TEST_CASE("evicted KV is loaded just before its turn", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 200ms;
  give_up(world);
  CHECK(world.blocks_of(KvEventKind::demote, KvReason::capacity, 0) == 2);
  REQUIRE(world.clock().now() == 40ms);
  world.idle_until(200ms);
  const Seen* begun = world.first(KvEventKind::prefetch, KvReason::deadline);
  REQUIRE(begun != nullptr);
  CHECK(begun->blocks == 2);
  // Two steps and 5 ms before the turn, less the time of the copy.
  CHECK((begun->at > 150ms && begun->at < 195ms));
  const auto turn = world.serve(0, kA + tokens(5, 7));
  CHECK((turn.prefix_hit_tokens == 32 && turn.host_hit_tokens == 0));
  CHECK((turn.time.load_stall == 0ms && turn.time.queue == 0ms));
}

TEST_CASE("KV may be loaded as soon as there is room, and then be evicted like any other",
          "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 100s;
  world.timetable.with_room = true;
  give_up(world);
  world.idle_until(60ms);
  const Seen* begun = world.first(KvEventKind::prefetch, KvReason::predicted);
  REQUIRE(begun != nullptr);
  CHECK(begun->blocks == 2);
  CHECK(begun->at < 50ms);  // no longer than the stores of that turn take
  CHECK(world.engine().kv().census().pinned == 0);
  world.serve(5, tokens(90, 5), true);  // takes the whole pool
  CHECK(world.blocks_of(KvEventKind::demote, KvReason::capacity, 0) == 4);
  world.idle_until(200ms);
  CHECK(world.blocks_of(KvEventKind::prefetch, KvReason::predicted, 0) == 4);
  CHECK(world.serve(0, kA + tokens(5, 7)).prefix_hit_tokens == 32);
}

TEST_CASE("what is loaded for a turn that waits is kept until it is served", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.with_room = true;
  world.timetable.returns[JobId{0}] = 100s;
  give_up(world);
  const auto first = world.arrive(7, tokens(33, 7), true, 20);
  world.step();
  world.arrive(8, tokens(60, 8), true);  // does not fit beside it, and comes before job 0
  const auto back = world.arrive(0, kA + tokens(5, 7));
  for (int i = 0; i < 5; ++i) world.step();
  CHECK(world.engine().kv().census().pinned == 2);
  world.run(first);
  CHECK(world.run(back).prefix_hit_tokens == 32);
}

TEST_CASE("nothing is loaded while nothing was evicted", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 100ms;
  world.serve(0, kA);
  world.idle_until(100ms);
  CHECK(world.first(KvEventKind::prefetch, KvReason::deadline) == nullptr);
  CHECK(world.serve(0, kA).prefix_hit_tokens == 32);
}

TEST_CASE("a turn that comes before its load has begun asks for it", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 500ms;
  give_up(world);
  world.idle_until(100ms);
  const auto turn = world.serve(0, kA + tokens(5, 7));
  CHECK((turn.prefix_hit_tokens == 0 && turn.host_hit_tokens == 32));
  CHECK(turn.time.load_stall == 2ms);
  CHECK(world.blocks_of(KvEventKind::prefetch, KvReason::deadline) == 0);
}

TEST_CASE("a turn that comes before its KV waits for the rest of the same load", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 200ms;
  give_up(world);
  world.idle_until(world.engine().wakeup() + 1us);
  REQUIRE(world.blocks_of(KvEventKind::prefetch, KvReason::deadline) == 2);
  const Nanos begun = world.clock().now();
  const auto turn = world.serve(0, kA + tokens(5, 7));
  CHECK((turn.prefix_hit_tokens == 32 && turn.host_hit_tokens == 0));
  CHECK((turn.time.load_stall > 1ms && turn.time.load_stall <= 2ms));
  CHECK(world.blocks_of(KvEventKind::prefetch, KvReason::late) == 2);
  CHECK(world.blocks_of(KvEventKind::load, KvReason::demand) == 0);
  CHECK(world.clock().now() < begun + 13ms);
}

TEST_CASE("KV that arrives long before its turn is held and reported as early", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 100ms;
  give_up(world);
  world.idle_until(348ms);
  CHECK(world.serve(0, kA).prefix_hit_tokens == 32);
  CHECK(world.blocks_of(KvEventKind::prefetch, KvReason::early) == 2);
}

TEST_CASE("KV of a turn that does not come is kept no longer than its time", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 100ms;
  give_up(world);
  world.idle_until(10s);
  const Seen* dropped = world.first(KvEventKind::drop, KvReason::misprediction);
  REQUIRE(dropped != nullptr);
  CHECK((dropped->blocks == 2 && dropped->at >= 350ms && dropped->at < 400ms));
  CHECK(world.engine().kv().num_free() == 6);
  CHECK(world.serve(0, kA).prefix_hit_tokens == 32);  // no other request wanted the blocks
}

TEST_CASE("the KV of a job that does not return is not loaded again forever", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 100ms;
  give_up(world);
  for (int i = 1; i <= 20; ++i) {
    world.idle_until(i * 1s);
    world.serve(9 + i, tokens(90, 10 + i), true);
  }
  CHECK(world.blocks_of(KvEventKind::prefetch, KvReason::deadline) <= 3 * 2);
}

TEST_CASE("loads in flight are cancelled when nothing else could run", "[prefetch]") {
  PrefetchWorld world({.quantum = 1});
  world.timetable.returns[JobId{0}] = 200ms;
  give_up(world);
  world.idle_until(world.engine().wakeup() + 1us);
  REQUIRE(world.blocks_of(KvEventKind::prefetch, KvReason::deadline) == 2);
  const Nanos arrival = world.clock().now();
  const auto other = world.serve(5, tokens(90, 5), true);
  CHECK(world.blocks_of(KvEventKind::prefetch, KvReason::cancelled, 0) == 1);
  CHECK(other.admitted - arrival <= 1ms);  // the copy in flight
  while (world.engine().copying()) world.step();
  const engine::KvCache& kv = world.engine().kv();
  CHECK(kv.num_free() + kv.census().pinned == 6);  // it may have been loaded again
}

TEST_CASE("held blocks are released when nothing else could run", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 200ms;
  give_up(world);
  world.idle_until(199ms);
  REQUIRE(world.engine().kv().census().pinned == 2);
  const auto other = world.serve(5, tokens(90, 5), true);
  CHECK(world.blocks_of(KvEventKind::drop, KvReason::pressure_admit, 0) == 2);
  CHECK(other.time.queue == 0ms);
}

TEST_CASE("held blocks are released before a running request is preempted", "[prefetch]") {
  PrefetchWorld world;
  world.timetable.returns[JobId{0}] = 200ms;
  give_up(world);
  world.idle_until(199ms);
  REQUIRE(world.engine().kv().census().pinned == 2);
  world.arrive(5, tokens(15, 5), true, 30);  // three blocks each, of the remaining four
  const auto second = world.arrive(6, tokens(15, 6), true, 30);
  world.run(second);
  CHECK(world.blocks_of(KvEventKind::drop, KvReason::pressure_run, 0) == 2);
  CHECK(world.blocks_of(KvEventKind::preempt, KvReason::out_of_blocks) == 0);
}
