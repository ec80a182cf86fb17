// A host tier inside the engine, over a modelled link: 1 ms per block in either direction.
#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/sim/link_copier.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::KvEventKind;
using engine::Nanos;
using engine::TierKind;

namespace {

struct Link {
  backends::LinkCopier link{{1, 1, 1, false, 1'000'000}};
};

struct TierWorld : Link, EngineWorld {
  explicit TierWorld(const engine::TierConfig& tier) : EngineWorld(config(tier), &link) {}
  static EngineWorldConfig config(const engine::TierConfig& tier) {
    return {.engine = {
                .kv = {5, 16, true},
                .scheduler = {.max_num_batched_tokens = 64, .max_num_seqs = 4, .max_model_len = 64},
                .tier = tier}};
  }
};

const Tokens kTurnA = tokens(33, 1), kTurnB = tokens(50, 2);

int blocks_of(const engine::StepTrace& trace, KvEventKind kind) {
  int blocks = 0;
  for (const auto& event : trace.kv_events) blocks += event.kind == kind ? event.blocks : 0;
  return blocks;
}

constexpr engine::TierConfig kOffload{.kind = TierKind::offload, .host_blocks = 16};
constexpr engine::TierConfig kChunks{
    .kind = TierKind::lmcache, .host_blocks = 16, .chunk_tokens = 16, .save_overhead = 4ms};

}  // namespace

TEST_CASE("a step that takes blocks which a copy reads waits for the copy", "[tier]") {
  TierWorld world(kOffload);
  world.submit(kTurnA, 1);
  CHECK(blocks_of(world.engine.step(), KvEventKind::store) == 2);
  CHECK(world.engine.copying());
  world.submit(kTurnB, 1);  // takes all blocks
  const auto& trace = world.engine.step();
  CHECK((trace.start == 10ms && trace.end == 22ms && trace.stall == 2ms));
  CHECK(trace.finished.size() == 1);
  CHECK((trace.transfers.stored_blocks == 2 && trace.transfers.store_busy == 2ms));
}

TEST_CASE("with nothing to compute the engine waits for copies, and an arrival ends the wait",
          "[tier]") {
  TierWorld world(kOffload);
  world.run_until_finished(world.submit(kTurnA, 1));
  world.run_until_finished(world.submit(kTurnB, 1));
  world.submit(kTurnA, 1);  // 3 ms until b's blocks are stored, 2 ms of loading
  CHECK(world.engine.step(26ms).end == 26ms);
  CHECK(world.engine.step(40ms).end == 27ms);
}

TEST_CASE("a turn waits for its KV and computes the rest", "[tier]") {
  TierWorld world(kOffload);
  world.run_until_finished(world.submit(kTurnA, 1));
  world.run_until_finished(world.submit(kTurnB, 1));
  REQUIRE(world.clock.now() == 22ms);
  const auto request = world.run_until_finished(world.submit(kTurnA, 1));
  CHECK((request.prefix_hit_tokens == 0 && request.host_hit_tokens == 32));
  CHECK(request.time.load_stall == 5ms);  // from b's blocks on
  CHECK((request.time.queue == 0ms && request.time.prefill == 10ms));
}

TEST_CASE("the tier stores what its mode says", "[tier]") {
  const auto stored = [](engine::StoreMode mode, bool tail) {
    engine::TierConfig tier = kOffload;
    tier.store_mode = mode;
    tier.tail_store = tail;
    TierWorld world(tier);
    int blocks = 0;
    engine::RequestSpec turn;
    const auto serve = [&](const Tokens& prompt, int outputs) {
      world.submit(prompt, outputs, turn);
      ++turn.turn;
      while (!world.engine.idle()) blocks += blocks_of(world.engine.step(), KvEventKind::store);
    };
    serve(kTurnA, 17);  // two blocks of the prompt; the third is full with the last step
    serve(kTurnA, 1);
    return blocks;
  };
  using engine::StoreMode;
  CHECK(stored(StoreMode::prompt, true) == 2);
  CHECK(stored(StoreMode::all, true) == 3);
  CHECK(stored(StoreMode::all, false) == 3);
  CHECK(stored(StoreMode::second_turn, true) == 2);
  CHECK(stored(StoreMode::lazy, true) == 1);  // what the second turn does not hit
}

TEST_CASE("steps with a blocking tier last as long as their copies", "[tier]") {
  TierWorld world(kChunks);
  world.submit(kTurnA, 1);
  const auto& saving = world.engine.step();
  CHECK((saving.end == 16ms && saving.stall == 6ms));
  REQUIRE(saving.finished.size() == 1);
  CHECK(saving.finished[0]->time.load_stall == 6ms);
  CHECK(saving.finished[0]->time.prefill == 10ms);
  world.run_until_finished(world.submit(kTurnB, 1));
  const auto request = world.run_until_finished(world.submit(kTurnA, 1));
  CHECK(request.host_hit_tokens == 32);
  CHECK(request.time.load_stall == 2ms);
  CHECK(request.time.queue == 0ms);
}

TEST_CASE("a host tier without a copier is refused", "[tier]") {
  EngineWorldConfig config = TierWorld::config(kOffload);
  CHECK_THROWS_AS(EngineWorld(config), std::invalid_argument);
}
