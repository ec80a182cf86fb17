// Finished turns that are swapped to the host while their tools run, when the retention policy asks
// for it.
#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::KvEventKind;
using engine::KvReason;

namespace {

/// Blocks of 4 tokens, and gaps of ten minutes, for which swapping wastes least.
struct GapWorld : SchedulerWorld {
  explicit GapWorld(int swap_blocks, bool prefix_caching = false)
      : SchedulerWorld(config(swap_blocks, prefix_caching)) {}

  static WorldConfig config(int swap_blocks, bool prefix_caching) {
    WorldConfig config;
    config.kv = {41, 4, prefix_caching};
    config.tier = {.kind = engine::TierKind::swap, .host_blocks = swap_blocks};
    config.policy.retention = "infercept";
    config.policy.estimator.name = "oracle";
    config.policy.estimator.truth = [](engine::JobId, int) { return engine::from_seconds(600); };
    config.policy.reload = {0, 1e-2, 0};
    config.policy.swap_s_per_tok = 1e-6;
    return config;
  }
  /// Runs the first turn: 8 prompt tokens and 5 output tokens, the last of which is never fed back.
  void first_turn() {
    add("first", {.prompt = kPrompt, .outputs = kAnswer, .job = 0, .last_turn = false});
    for (int i = 0; i < 5; ++i) step();
    REQUIRE(finished() == "first");
  }
  void second_turn(const Tokens& prompt) {
    add("second", {.prompt = prompt, .outputs = tokens(2, 9), .job = 0, .turn = 1});
  }

  static inline const Tokens kPrompt = tokens(8, 1), kAnswer = tokens(5, 2);
};

}  // namespace

TEST_CASE("a turn in its gap leaves its full blocks in host memory, for the next turn", "[gap]") {
  GapWorld world(8);
  world.first_turn();
  CHECK(world.blocks_of(KvEventKind::swap_out, KvReason::waste) == 3);
  CHECK(world.tier.usage().used_blocks == 3);
  CHECK(world.kv.num_free() == world.kv.num_usable());
  world.second_turn(GapWorld::kPrompt + GapWorld::kAnswer + tokens(3, 3));
  CHECK(world.step() == "second:4");
  CHECK(world.plan().scheduled[0].computed_before == 12);
  CHECK(world.blocks_of(KvEventKind::swap_in, KvReason::demand) == 3);
  CHECK(world.tier.usage().used_blocks == 0);
}

TEST_CASE("what the next turn does not share with the one before is not loaded", "[gap]") {
  GapWorld world(8);
  world.first_turn();
  world.second_turn(Tokens(GapWorld::kPrompt.begin(), GapWorld::kPrompt.begin() + 6) +
                    tokens(10, 3));
  CHECK(world.step() == "second:12");
  CHECK(world.plan().scheduled[0].computed_before == 4);
}

TEST_CASE("a turn that is still on the GPU is not loaded, and its slots are freed", "[gap]") {
  GapWorld world(8, true);
  world.first_turn();
  world.second_turn(GapWorld::kPrompt + GapWorld::kAnswer + tokens(3, 3));
  CHECK(world.step() == "second:4");
  CHECK(world.blocks_of(KvEventKind::swap_in, KvReason::demand) == 0);
  world.run_until_idle();
  CHECK(world.tier.usage().used_blocks == 0);
}

TEST_CASE("a turn without space for all its KV is dropped", "[gap]") {
  GapWorld world(2);
  world.first_turn();
  CHECK(world.tier.usage().used_blocks == 0);
  world.second_turn(GapWorld::kPrompt + GapWorld::kAnswer + tokens(3, 3));
  CHECK(world.step() == "second:16");
}

TEST_CASE("aborting a job frees the swap space of its gap", "[gap]") {
  GapWorld world(8);
  world.first_turn();
  world.second_turn(GapWorld::kPrompt + GapWorld::kAnswer + tokens(3, 3));
  world.abort("second");
  CHECK(world.tier.usage().used_blocks == 0);
}
