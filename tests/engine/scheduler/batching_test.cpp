// Batching strategies: mixed and chunked batches, blocks allocated ahead of need, fixed batches.
#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::Batching;
using engine::StopReason;

namespace {

/// Blocks of 4 tokens, allocated ahead as by the schedulers of vLLM 0.4.2.
WorldConfig ahead(int usable_blocks, int budget) {
  WorldConfig config;
  config.kv = {usable_blocks + 1, 4, false};
  config.scheduler.max_num_batched_tokens = budget;
  config.scheduler.max_num_seqs = 8;
  config.scheduler.max_model_len = 64;
  config.scheduler.chunked_prefill = false;
  config.scheduler.batching = Batching::mixed;
  return config;
}

WorldConfig chunked(int budget, int chunk, bool adaptive = false) {
  WorldConfig config = ahead(100, budget);
  config.scheduler.chunked_prefill = true;
  config.scheduler.chunk_tokens = chunk;
  config.scheduler.adaptive_chunking = adaptive;
  return config;
}

WorldConfig fixed_batches(int usable_blocks, int seqs, int buffer_output) {
  WorldConfig config = ahead(usable_blocks, 64);
  config.scheduler.batching = Batching::fixed;
  config.scheduler.max_num_seqs = seqs;
  config.scheduler.buffer_output_tokens = buffer_output;
  return config;
}

}  // namespace

TEST_CASE("mixed, whole prompts join decodes as far as the token budget allows", "[mixed]") {
  SchedulerWorld world(ahead(100, 16));
  world.add("a", 8);
  CHECK(world.step() == "a:8");
  world.add("b", 12);
  world.add("c", 4);
  CHECK(world.step() == "a:1 b:12");
  CHECK(world.plan().stop == StopReason::chunk_off);
  CHECK(world.step() == "a:1 b:1 c:4");
}

TEST_CASE("chunked, a step computes at most one chunk, decodes first", "[chunked]") {
  SchedulerWorld world(chunked(64, 8));
  world.add("a", 6);
  world.add("b", 20);
  CHECK(world.step() == "a:6 b:2");
  CHECK(world.plan().token_budget == 8);
  CHECK(world.step() == "a:1 b:7");
  CHECK(world.step() == "a:1 b:7");
  CHECK(world.step() == "a:1 b:4");
  CHECK(world.step() == "a:1 b:1");
}

TEST_CASE("a chunked prompt has all its blocks from its first chunk on", "[chunked]") {
  SchedulerWorld world(chunked(64, 8));
  world.add("a", 20);
  CHECK(world.step() == "a:8");
  CHECK(world.table("a").size() == 5);
  CHECK(world.kv.num_free() == 95);
}

TEST_CASE("adaptively, prompts are split only where they would take longer than the decodes",
          "[chunked]") {
  using std::chrono::milliseconds;
  SchedulerWorld world(chunked(64, 4, true));
  for (const char* name : {"a", "b", "c"}) world.add(name, 1);
  world.step_duration = milliseconds(3);
  CHECK(world.step() == "a:1 b:1 c:1");  // 1 ms per prompt token
  world.step_duration = milliseconds(5);
  CHECK(world.step() == "a:1 b:1 c:1");  // 5 ms for any number of decodes
  world.add("short", 4);
  world.step_duration = milliseconds(9);
  CHECK(world.step() == "a:1 b:1 c:1 short:4");  // a chunk of 4 would leave it one token
  CHECK(world.plan().token_budget == 64);
  world.add("long", 6);
  CHECK(world.step() == "a:1 b:1 c:1 short:1");
  CHECK(world.plan().token_budget == 4);
}

TEST_CASE("adaptively, prompts are split until a step of decodes alone has been timed",
          "[chunked]") {
  SchedulerWorld world(chunked(64, 4, true));
  world.add("a", 9, 3);
  for (const std::string part : {"a:4", "a:4", "a:1"}) CHECK(world.step() == part);
  world.add("b", 9);
  world.step_duration = std::chrono::seconds(1);
  CHECK(world.step() == "a:1 b:3");  // mixed: does not show the duration of decodes alone
  CHECK(world.step() == "a:1 b:3");
  CHECK(world.step() == "b:3");
  CHECK(world.step() == "b:1");
  world.add("c", 9);
  CHECK(world.step() == "b:1 c:9");
}

TEST_CASE("a running request needs a free block in every step, even if it does not use it",
          "[ahead]") {
  SchedulerWorld world(ahead(4, 64));
  world.add("a", 5);
  world.add("b", 5);
  CHECK(world.step() == "a:5 b:5");
  CHECK(world.step() == "a:1");  // both have free slots in their blocks
  CHECK(world.preempted() == "b");
}

TEST_CASE("a request that runs alone may fill the last slot of the pool", "[ahead]") {
  SchedulerWorld world(ahead(2, 64));
  world.add("a", 5, 3);
  CHECK(world.step() == "a:5");
  CHECK(world.step() == "a:1");
  CHECK(world.step() == "a:1");
  CHECK(world.finished() == "a");
}

TEST_CASE("every admission but the first leaves the watermark free", "[ahead]") {
  WorldConfig config = ahead(6, 64);
  config.scheduler.watermark_blocks = 2;
  SchedulerWorld world(config);
  world.add("a", 12, 2);
  world.add("b", 8, 2);
  CHECK(world.step() == "a:12");
  CHECK(world.plan().stop == StopReason::isl_reserve);
  CHECK(world.step() == "a:1");
  CHECK(world.step() == "b:8");
  SchedulerWorld full(config);
  full.add("a", 24, 1);
  CHECK(full.step() == "a:24");
}

TEST_CASE("a fixed batch runs until its last sequence ends, and admits no request", "[fixed]") {
  SchedulerWorld world(fixed_batches(100, 2, 4));
  world.add("a", 4, 1);
  world.add("b", 4, 3);
  world.add("c", 4, 1);
  CHECK(world.step() == "a:4 b:4");
  CHECK(world.finished() == "a");
  CHECK(world.step() == "b:1");
  CHECK(world.step() == "b:1");
  CHECK(world.step() == "c:4");
}

TEST_CASE("a sequence of a fixed batch has contiguous blocks for its greatest possible length",
          "[fixed]") {
  SchedulerWorld world(fixed_batches(100, 2, 20));
  for (int round = 0; round < 3; ++round) {
    const std::string number = std::to_string(round);
    world.add("a" + number, 7, 2);
    world.add("b" + number, 3, 9);
    world.step();
    CHECK(world.table("a" + number) == Ids{1, 2, 3, 4, 5, 6, 7});
    CHECK(world.table("b" + number) == Ids{8, 9, 10, 11, 12, 13});
    world.step();
    CHECK(world.kv.num_free() == 87);  // ended sequences keep their buffers
    world.run_until_idle();
  }
}

TEST_CASE("without a limit to its output, a sequence's buffer is as long as the model allows",
          "[fixed]") {
  SchedulerWorld world(fixed_batches(40, 8, 0));
  for (const char* name : {"a", "b", "c"}) world.add(name, 4, 2);
  CHECK(world.step() == "a:4 b:4");
  CHECK(world.table("a").size() == 16);
  CHECK(world.plan().stop == StopReason::isl_reserve);
}

TEST_CASE("a fixed batch with prompts beyond the token budget fills before it decodes", "[fixed]") {
  WorldConfig config = fixed_batches(100, 4, 4);
  config.scheduler.max_num_batched_tokens = 64;
  SchedulerWorld world(config);
  for (const char* name : {"a", "b", "c"}) world.add(name, 30, 2);
  CHECK(world.step() == "a:30 b:30");
  CHECK(world.step() == "c:30");
  CHECK(world.step() == "a:1 b:1 c:1");
}
