
#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::KvEventKind;
using engine::KvReason;

namespace {

struct ChunkSizes {
  int host_blocks = 64;
  int gpu_blocks = 200;
  int budget = 512;
  bool save_decode = false;
  engine::Nanos schedule_overhead{0}, save_overhead{0};
};

/// Chunks of 64 tokens in blocks of 16. Between requests other jobs compute, so that the GPU keeps
/// none of their KV.
struct ChunkWorld : SchedulerWorld {
  explicit ChunkWorld(const ChunkSizes& sizes = {})
      : SchedulerWorld({.kv = {sizes.gpu_blocks, 16, true},
                        .scheduler = {.max_num_batched_tokens = sizes.budget,
                                      .max_num_seqs = 16,
                                      .max_model_len = 3000},
                        .tier = {.kind = engine::TierKind::lmcache,
                                 .host_blocks = sizes.host_blocks,
                                 .chunk_tokens = 64,
                                 .save_decode = sizes.save_decode,
                                 .schedule_overhead = sizes.schedule_overhead,
                                 .save_overhead = sizes.save_overhead}}) {}
  void ask(const std::string& name, const Tokens& prompt, int outputs = 1) {
    add(name, {.prompt = prompt, .outputs = tokens(outputs, 90), .arrival_s = 0.0});
  }
  void forget_gpu() {
    run_until_idle();
    engine::Request filler;
    REQUIRE(kv.try_admit_loading(filler, {}, kv.num_free() * 16, 0).fit == engine::Fit::ok);
    kv.release(filler);
    kv.clear_evictions();
  }
  int saved() const { return blocks_of(KvEventKind::store, KvReason::write_through); }
};

}  // namespace

TEST_CASE("whole chunks of a prompt are stored within the step and found in the next",
          "[lmcache]") {
  ChunkWorld world;
  world.ask("a", tokens(150));
  CHECK(world.step() == "a:150");
  CHECK(world.saved() == 8);
  CHECK_FALSE(world.tier.busy());
  CHECK(world.tier.usage().used_blocks == 8);
  world.forget_gpu();
  world.ask("b", tokens(150));
  CHECK(world.step() == "b:22");
  CHECK((world["b"].prefix_hit_tokens == 0 && world["b"].host_hit_tokens == 128));
  CHECK(world.saved() == 8);
}

TEST_CASE("a prompt below a chunk is neither stored nor found", "[lmcache]") {
  ChunkWorld world;
  world.ask("a", tokens(63));
  world.step();
  CHECK(world.saved() == 0);
}

TEST_CASE("the last token of a prompt that is fully in the host tier is recomputed", "[lmcache]") {
  ChunkWorld world;
  world.ask("a", tokens(128));
  world.forget_gpu();
  world.ask("b", tokens(128));
  CHECK(world.step() == "b:1");
  CHECK(world["b"].host_hit_tokens == 127);
}

TEST_CASE("chunks behind what the GPU has are loaded", "[lmcache]") {
  ChunkWorld world({.gpu_blocks = 14, .budget = 200});
  world.ask("a", tokens(192));
  world.run_until_idle();
  world.ask("other", tokens(100, 5));  // evicts the tail
  world.run_until_idle();
  world.ask("b", tokens(192));
  world.step();
  const int on_gpu = world["b"].prefix_hit_tokens;
  CHECK((on_gpu > 0 && on_gpu < 176));
  CHECK(world["b"].host_hit_tokens == 191 - on_gpu);
}

TEST_CASE("a long prompt stores its chunks as its steps complete them", "[lmcache]") {
  ChunkWorld world({.budget = 100});
  world.ask("a", tokens(250));
  world.step();
  CHECK(world.saved() == 4);
  world.step();
  CHECK(world.saved() == 12);
  world.run_until_idle();
  CHECK(world.saved() == 12);
}

TEST_CASE("KV of generated tokens is saved only if configured", "[lmcache]") {
  for (const bool save_decode : {false, true}) {
    ChunkWorld world({.save_decode = save_decode});
    world.ask("a", tokens(60), 10);
    world.run_until_idle();
    CHECK(world.saved() == (save_decode ? 4 : 0));
  }
}

TEST_CASE("the chunk used least recently is evicted first, the head of a chain last", "[lmcache]") {
  ChunkWorld world({.host_blocks = 12});
  world.ask("a", tokens(128));
  world.ask("b", tokens(64, 2));
  world.forget_gpu();
  world.ask("a again", tokens(128));  // uses a's chunks
  world.forget_gpu();
  world.ask("c", tokens(128, 3));
  world.forget_gpu();
  CHECK(world.blocks_of(KvEventKind::evict_host, KvReason::unread) == 4);  // b
  CHECK(world.blocks_of(KvEventKind::evict_host, KvReason::read) == 4);    // a's second
  world.ask("a", tokens(128));
  CHECK(world.step() == "a:64");
}

TEST_CASE("all requests of a step wait for its copies and for the connector's overhead",
          "[lmcache]") {
  ChunkWorld world({.schedule_overhead = 1ms, .save_overhead = 4ms});
  world.ask("a", tokens(64), 2);
  world.step();
  CHECK(world.now() == world.step_duration + 5ms);
  world.step();
  CHECK(world.now() == 2 * world.step_duration + 6ms);  // nothing to save
}
