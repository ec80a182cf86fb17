// Preemption by swap, and the step order of vLLM's scheduler with swap.
#include "workers/engine/tiers/swap.hpp"
#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::Batching;
using engine::KvEventKind;
using engine::KvReason;
using engine::SchedKind;

namespace {

struct SwapLimits {
  int blocks;  // including the null block
  int swap_blocks = 0;
  bool partially = false;
  int budget = 64;
  int seqs = 4;
  Batching batching = Batching::prefill_first;
  bool prefix_caching = false;
  bool by_block = false;
  bool if_cheaper = false;
};

/// Blocks of 4 tokens, and swap space if there is any.
struct SwapWorld : SchedulerWorld {
  explicit SwapWorld(const SwapLimits& limits)
      : SchedulerWorld({.kv = {limits.blocks, 4, limits.prefix_caching},
                        .scheduler = {.max_num_batched_tokens = limits.budget,
                                      .max_num_seqs = limits.seqs,
                                      .max_model_len = 64,
                                      .preempt_by_block = limits.by_block,
                                      .batching = limits.batching},
                        .tier = {.kind = limits.swap_blocks > 0 ? engine::TierKind::swap
                                                                : engine::TierKind::none,
                                 .host_blocks = limits.swap_blocks,
                                 .swap_partially = limits.partially,
                                 .swap_if_cheaper = limits.if_cheaper}}) {}
  int swapped() const {
    return blocks_of(KvEventKind::swap_out, KvReason::swapped_out) +
           blocks_of(KvEventKind::swap_out, KvReason::partial);
  }
};

}  // namespace

TEST_CASE("a new prompt is computed alone while running requests wait", "[swap]") {
  SwapWorld world({.blocks = 40, .budget = 30, .seqs = 2});
  world.add("a", 1);
  CHECK(world.step() == "a:1");
  world.add("b", 30);
  CHECK(world.step() == "b:30");
  CHECK(world.step() == "a:1 b:1");
}

TEST_CASE("a preempted request computes its prompt and output again", "[swap]") {
  SwapWorld world({.blocks = 3});
  world.add("a", 4);
  world.add("b", 4);
  CHECK(world.step() == "a:4 b:4");
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  world.abort("a");
  CHECK(world.step() == "b:5");
}

TEST_CASE("no more prompts are begun than requests may run", "[swap]") {
  SwapWorld world({.blocks = 40, .seqs = 2});
  world.add("a", 4);
  world.step();
  world.add("b", 4);
  world.add("c", 4);
  CHECK(world.step() == "b:4");
  CHECK(world.waiting() == "c");
}

TEST_CASE("a request that cannot grow is preempted after all behind it", "[swap]") {
  SwapWorld world({.blocks = 4});
  world.add("0", 2);
  world.add("1", 4);
  world.add("2", 4);
  CHECK(world.step() == "0:2 1:4 2:4");
  // A copy keeps the blocks that 2 frees, so they help no other request.
  const engine::BlockId kept = world["2"].blocks[0];
  world.kv.begin_copy(kept);
  CHECK(world.schedule() == "0:1");
  CHECK(world.preempted() == "2 1");
  world.kv.end_copy(kept);
}

TEST_CASE("a swapped-out request resumes before any new one is admitted", "[swap]") {
  SwapWorld world({.blocks = 8, .swap_blocks = 8});
  for (const char* name : {"a", "b", "c"}) world.add(name, 8, 3);
  CHECK(world.step() == "a:8 b:8 c:8");
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.preempted() == "c");
  CHECK(world.swapped() == 2);
  CHECK(world.tier.usage().used_blocks == 2);
  world.add("new", 4, 2);
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.finished() == "a b");
  CHECK(world.step() == "c:1");  // nothing of it is recomputed
  CHECK(world.plan().scheduled[0].computed_before == 8);
  CHECK(world.plan().scheduled[0].kind == SchedKind::resumed);
  CHECK(world.tier.usage().used_blocks == 0);
  CHECK(world.waiting() == "new");
  CHECK(world.step() == "new:4");
  world.run_until_idle();
  CHECK(world["c"].recomputed_tokens == 0);
}

TEST_CASE("a request that does not fit yet stays swapped out", "[swap]") {
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

TEST_CASE("a request without swap space for all its KV is recomputed", "[swap]") {
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
  CHECK(world.step() == "a:1");  // evicts b's second block
  CHECK(world.step() == "b:1");
  CHECK(world.blocks_of(KvEventKind::swap_in, KvReason::demand) == 1);
}

TEST_CASE("swapping works with admissions beside running requests", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8, .batching = Batching::v1});
  world.add("a", 8, 2);
  world.add("b", 6, 4);
  world.step();
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  CHECK(world.step() == "b:1");
  CHECK(world.plan().scheduled[0].computed_before == 6);  // including a partial block
  world.run_until_idle();
  CHECK(world.tier.usage().used_blocks == 0);
}

TEST_CASE("swap space of an aborted request is freed", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8});
  world.add("a", 8, 6);
  world.add("b", 8, 3);
  world.step();
  world.step();
  REQUIRE(world.tier.usage().used_blocks == 2);
  world.abort("b");
  CHECK(world.tier.usage().used_blocks == 0);
}

TEST_CASE("a request that could not be swapped out in full is recomputed", "[swap]") {
  SwapWorld world({.blocks = 5, .swap_blocks = 8});
  world.copier.fails = [](const auto&) { return true; };
  world.add("a", 8, 2);
  world.add("b", 8, 2);
  world.step();
  world.step();
  CHECK(world.tier.usage().used_blocks == 0);
  CHECK(world.step() == "b:9");
}

TEST_CASE("by blocks, only the missing blocks are swapped out, and only those are restored",
          "[partial]") {
  SwapWorld world({.blocks = 7, .swap_blocks = 8, .by_block = true});
  world.add("a", 12, 3);
  world.add("b", 12, 4);
  CHECK(world.step() == "a:12 b:12");
  CHECK(world.step() == "a:1");  // needs a fourth block
  CHECK(world.preempted() == "b");
  CHECK(world.swapped() == 1);
  CHECK(world.table("b").size() == 2);
  CHECK(world.step() == "a:1");
  CHECK(world.swapped() == 1);
  CHECK(world.finished() == "a");
  CHECK(world.step() == "b:1");
  CHECK(world.blocks_of(KvEventKind::swap_in, KvReason::demand) == 1);
  CHECK(world.plan().scheduled[0].computed_before == 12);
  world.run_until_idle();
  CHECK(world["b"].recomputed_tokens == 0);
  CHECK(world.tier.usage().used_blocks == 0);
}

TEST_CASE("by blocks, the request preempted first is evicted wholly before the next one",
          "[partial]") {
  SwapWorld world({.blocks = 7, .swap_blocks = 8, .batching = Batching::v1, .by_block = true});
  for (const char* name : {"a", "b", "c"}) world.add(name, 8, 20);
  CHECK(world.step() == "a:8 b:8 c:8");
  CHECK(world.step() == "a:1 b:1");
  CHECK(world.preempted() == "c");
  CHECK(world.table("c").empty());
  for (int i = 0; i < 3; ++i) CHECK(world.step() == "a:1 b:1");
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  CHECK(world.table("b").size() == 2);
  CHECK(world.tier.usage().used_blocks == 3);
}

TEST_CASE("by blocks, what the host has no space for is recomputed", "[partial]") {
  SwapWorld world({.blocks = 7, .swap_blocks = 1, .by_block = true});
  world.add("a", 12, 7);
  world.add("b", 12, 3);
  world.step();
  for (int i = 0; i < 5; ++i) CHECK(world.step() == "a:1");  // evicts two blocks of b
  CHECK(world.table("b").size() == 1);
  CHECK(world.step() == "a:1");
  CHECK(world.step() == "b:9");
  CHECK(world["b"].recomputed_tokens == 8);
  world.run_until_idle();
  CHECK(world.tier.usage().used_blocks == 0);
}

TEST_CASE("by blocks, a suspended request that cannot resume is evicted for the head of the queue",
          "[partial]") {
  SwapWorld world({.blocks = 9, .swap_blocks = 16, .by_block = true});
  for (const char* name : {"a", "b", "c"}) world.add(name, 8, 24);
  world.run_until_idle();
  for (const char* name : {"a", "b", "c"}) CHECK(world[name].recomputed_tokens == 0);
  CHECK(world.tier.usage().used_blocks == 0);
}

TEST_CASE("an aborted request frees its blocks on the GPU and on the host", "[partial]") {
  SwapWorld world({.blocks = 7, .swap_blocks = 8, .by_block = true});
  world.add("a", 12, 3);
  world.add("b", 12, 3);
  world.step();
  world.step();
  REQUIRE(world.table("b").size() == 2);
  world.abort("b");
  CHECK(world.tier.usage().used_blocks == 0);
  world.run_until_idle();
  CHECK(world.kv.num_free() == world.kv.num_usable());
}

namespace {

/// Runs prompts and copies with these durations, then preempts a request of 8 tokens. Returns the
/// blocks swapped out.
int swapped_when(engine::Nanos a_block, engine::Nanos a_prompt_token) {
  engine::SwapRates rates;
  for (int n = 1; n < 8; ++n) {
    rates.copied(n, a_block * n);
    rates.computed(std::vector<int>{16 * n}, 0, a_prompt_token * 16 * n);
  }
  return rates.swap_is_cheaper(2, 0, 8) ? 1 : 0;
}

}  // namespace

TEST_CASE("the cheaper way is swapping where copies there and back take less than computing",
          "[adaptive]") {
  using std::chrono::microseconds;
  CHECK(swapped_when(microseconds(10), microseconds(6)) == 1);  // 40 against 48
  CHECK(swapped_when(microseconds(13), microseconds(6)) == 0);  // 52 against 48
}

namespace {

/// Swap rates that have seen these steps and copies, in microseconds.
struct SeenRates : engine::SwapRates {
  void copied(int blocks, int us) {
    engine::SwapRates::copied(blocks, std::chrono::microseconds(us));
  }
  void computed(std::vector<int> prompts, int decodes, int us) {
    engine::SwapRates::computed(prompts, decodes, std::chrono::microseconds(us));
  }
};

}  // namespace

TEST_CASE("what is on the link already counts against swapping", "[adaptive]") {
  SeenRates rates;
  CHECK(rates.swap_is_cheaper(2, 0, 8));  // nothing is known, so try
  rates.computed({8}, 0, 48);
  CHECK(rates.swap_is_cheaper(2, 0, 8));
  rates.copied(1, 10);
  CHECK(rates.swap_is_cheaper(2, 0, 8));
  CHECK(!rates.swap_is_cheaper(2, 3, 8));
}

TEST_CASE("beside decodes, recomputation costs the time by which it prolongs the step",
          "[adaptive]") {
  SeenRates rates;
  rates.copied(1, 10);
  rates.computed({}, 4, 100);
  rates.computed({8}, 4, 130);
  CHECK(!rates.swap_is_cheaper(2, 0, 8));  // 40 against 30
  rates.computed({8}, 0, 130);
  CHECK(rates.swap_is_cheaper(2, 0, 8));
}

TEST_CASE("prompts that share a step share its cost by their tokens", "[adaptive]") {
  SeenRates rates;
  rates.copied(1, 10);
  rates.computed({8, 24}, 0, 120);
  CHECK(!rates.swap_is_cheaper(2, 0, 8));   // 40 against 30
  CHECK(!rates.swap_is_cheaper(5, 0, 24));  // 100 against 90
  CHECK(rates.swap_is_cheaper(4, 0, 24));   // 80
}

TEST_CASE("the time of prompts beside decodes is unknown until decodes have been timed alone",
          "[adaptive]") {
  SeenRates rates;
  rates.copied(1, 10);
  rates.computed({8}, 0, 30);
  rates.computed({8}, 4, 1000);
  CHECK(!rates.swap_is_cheaper(2, 0, 8));
}

TEST_CASE("rates follow what is seen last, with what each copy and step costs by itself",
          "[adaptive]") {
  engine::FadingLine line;
  for (const double x : {1.0, 2.0, 3.0}) line.add(x, 5 + 2 * x);
  CHECK(line.at(10) == Approx(25));
  for (int i = 0; i < 400; ++i) line.add(1 + i % 3, 1 + i % 3);
  CHECK(line.at(10) == Approx(10).epsilon(0.05));
  engine::FadingLine same;
  for (int i = 0; i < 3; ++i) same.add(4, 8);
  CHECK(same.at(2) == Approx(4));
}
