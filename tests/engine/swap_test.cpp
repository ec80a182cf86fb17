// Preemption by swap, and the step order of the scheduler that had it.
#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::KvEventKind;
using engine::KvReason;
using engine::ScheduleKind;
using engine::StepOrder;

namespace {

struct Limits {
  int blocks;  // with the null block
  int swap_blocks = 0;
  bool partially = false;
  int budget = 64;
  int seqs = 4;
  StepOrder order = StepOrder::prefill_first;
  bool prefix_caching = false;
};

/// Blocks of 4 tokens, and swap space if there is any.
struct SwapWorld : SchedulerWorld {
  explicit SwapWorld(const Limits& limits)
      : SchedulerWorld({.kv = {limits.blocks, 4, limits.prefix_caching},
                        .scheduler = {.max_num_batched_tokens = limits.budget,
                                      .max_num_seqs = limits.seqs,
                                      .max_model_len = 64,
                                      .step_order = limits.order},
                        .tier = {.kind = limits.swap_blocks > 0 ? engine::TierKind::swap
                                                                : engine::TierKind::none,
                                 .host_blocks = limits.swap_blocks,
                                 .swap_partially = limits.partially}}) {}
  int swapped() const { return blocks_of(KvEventKind::store, KvReason::swapped_out); }
};

}  // namespace

TEST_CASE("a new prompt is computed alone while those who run wait", "[V1]") {
  SwapWorld world({.blocks = 40, .budget = 30, .seqs = 2});
  world.add("a", 1);
  CHECK(world.step() == "a:1");
  world.add("b", 30);
  CHECK(world.step() == "b:30");
  CHECK(world.step() == "a:1 b:1");
}

TEST_CASE("a preempted request computes its prompt and output again", "[V2]") {
  SwapWorld world({.blocks = 3});
  world.add("a", 4);
  world.add("b", 4);
  CHECK(world.step() == "a:4 b:4");
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  world.abort("a");
  CHECK(world.step() == "b:5");
}

TEST_CASE("no more prompts are begun than requests may run", "[V3]") {
  SwapWorld world({.blocks = 40, .seqs = 2});
  world.add("a", 4);
  world.step();
  world.add("b", 4);
  world.add("c", 4);
  CHECK(world.step() == "b:4");
  CHECK(world.waiting() == "c");
}

TEST_CASE("who cannot grow gives way after all behind it", "[V4]") {
  SwapWorld world({.blocks = 4});
  world.add("0", 2);
  world.add("1", 4);
  world.add("2", 4);
  CHECK(world.step() == "0:2 1:4 2:4");
  // A copy keeps what 2 gives up, so that it helps nobody.
  const engine::BlockId kept = world["2"].blocks[0];
  world.kv.begin_copy(kept);
  CHECK(world.schedule() == "0:1");
  CHECK(world.preempted() == "2 1");
  world.kv.end_copy(kept);
}

TEST_CASE("who was swapped out comes back before anybody new is admitted", "[V5]") {
  SwapWorld world({.blocks = 7, .swap_blocks = 8});
  for (const char* name : {"a", "b", "c"}) world.add(name, 8, 3);
  CHECK(world.step() == "a:8 b:8 c:8");
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.preempted() == "c");
  CHECK(world.swapped() == 2);
  CHECK(world.tier.blocks_held() == 2);
  world.add("new", 4, 2);
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.finished() == "a b");
  CHECK(world.step() == "c:1");  // nothing of it is computed again
  CHECK(world.plan().scheduled[0].computed_before == 8);
  CHECK(world.plan().scheduled[0].kind == ScheduleKind::resumed);
  CHECK(world.tier.blocks_held() == 0);
  CHECK(world.waiting() == "new");
  CHECK(world.step() == "new:4");
  world.run_until_idle();
  CHECK(world["c"].recomputed_tokens == 0);
}

TEST_CASE("who does not fit yet stays swapped out", "[V6]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8});
  world.add("a", 8, 6);
  world.add("b", 8, 3);
  CHECK(world.step() == "a:8 b:8");
  CHECK(world.step() == "a:1");
  for (int i = 0; i < 4; ++i) {
    CHECK(world.step() == "a:1");
    CHECK((world.waiting() == "b" && world.plan().total_tokens == 1));
  }
  CHECK(world.step() == "b:1");
}

TEST_CASE("without swap space for all of it a request computes again", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 1});
  world.add("a", 8, 2);
  world.add("b", 8, 2);
  world.step();
  CHECK(world.step() == "a:1");
  CHECK((world.preempted() == "b" && world.swapped() == 0));
  CHECK(world.step() == "b:9");
}

TEST_CASE("partially, as much is swapped out as there is space for", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 1, .partially = true});
  world.add("a", 8, 2);
  world.add("b", 8, 2);
  world.step();
  CHECK(world.step() == "a:1");
  CHECK((world.preempted() == "b" && world.swapped() == 1));
  CHECK(world.step() == "b:5");
  CHECK(world["b"].recomputed_tokens == 4);
}

TEST_CASE("what the GPU still holds of a swapped request is not loaded", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8, .prefix_caching = true});
  world.add("a", 8, 2);
  world.add("b", 8, 2);
  world.step();
  CHECK(world.step() == "a:1");  // takes b's second block
  CHECK(world.step() == "b:1");
  CHECK(world.blocks_of(KvEventKind::load, KvReason::demand) == 1);
}

TEST_CASE("swapping works with admissions beside those who run", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8, .order = StepOrder::running_first});
  world.add("a", 8, 2);
  world.add("b", 6, 4);
  world.step();
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  CHECK(world.step() == "b:1");
  CHECK(world.plan().scheduled[0].computed_before == 6);  // a part of a block, too
  world.run_until_idle();
  CHECK(world.tier.blocks_held() == 0);
}

TEST_CASE("swap space of a request that is aborted comes back", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8});
  world.add("a", 8, 6);
  world.add("b", 8, 3);
  world.step();
  world.step();
  REQUIRE(world.tier.blocks_held() == 2);
  world.abort("b");
  CHECK(world.tier.blocks_held() == 0);
}

TEST_CASE("a request that could not be swapped out whole computes again", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8});
  world.copier.fails = [](const auto&) { return true; };
  world.add("a", 8, 2);
  world.add("b", 8, 2);
  world.step();
  world.step();
  CHECK(world.tier.blocks_held() == 0);
  CHECK(world.step() == "b:9");
}
