#include "workers/engine/tiers/offload.hpp"

#include "tests/engine/support/kv_world.hpp"
#include "tests/engine/support/scheduler_world.hpp"
#include "tests/engine/support/scripted_copier.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::KvEventKind;
using engine::KvReason;
using engine::Request;
using Texts = std::vector<std::string>;

namespace {

struct OffloadSizes {
  int gpu_blocks = 16;  // including the null block
  int host_blocks = 8;
  engine::StoreMode store = engine::StoreMode::eager;
  bool tail_store = true;
  int max_step_tokens = 64;
  engine::Nanos step_cost{0};
};

/// Blocks of 16 tokens on the GPU, beside a tier. Copies complete at the next poll() unless the
/// copier is told otherwise.
struct OffloadWorld : KvWorld {
  explicit OffloadWorld(const OffloadSizes& sizes = {})
      : KvWorld(sizes.gpu_blocks),
        tier({.kind = engine::TierKind::offload,
              .host_blocks = sizes.host_blocks,
              .store_mode = sizes.store,
              .tail_store = sizes.tail_store,
              .schedule_overhead = sizes.step_cost},
             sizes.max_step_tokens, kv, copier, events) {}

  /// A step that schedules these requests, with all of their computed tokens from earlier steps.
  void step(std::initializer_list<Request*> requests) {
    engine::StepPlan plan;
    for (Request* r : requests)
      plan.scheduled.push_back({.request = r,
                                .kind = engine::ScheduleKind::running,
                                .num_tokens = 1,
                                .computed_before = r->num_computed_tokens,
                                .num_new_blocks = 0,
                                .samples = true,
                                .decode = true});
    events.clear();
    tier.before_execution(plan, clock);
    kv.verify();
  }
  /// Stores and loads what the step in progress asks for: polls until nothing is in flight.
  int poll() {
    const auto loads = tier.poll(0ns);
    for (const engine::LoadedKv& load : loads) load.request->num_computed_tokens = load.tokens;
    kv.verify();
    return static_cast<int>(loads.size());
  }
  int lookup(Request& request, int gpu_tokens = 0) { return tier.find(request, gpu_tokens).tokens; }
  int lookup(const Tokens& prompt) {
    Request& request = sequence(prompt);
    const int tokens = lookup(request);
    tier.forget(request, 0ns);
    return tokens;
  }
  /// Computes the prompt, stores it, and releases it.
  void store(const Tokens& prompt) {
    Request& request = admitted(prompt);
    step({&request});
    poll();
    end(request);
  }
  void end(Request& request) {
    tier.forget(request, 0ns);
    free(request);
  }
  int blocks_of(KvEventKind kind, KvReason reason) const {
    int blocks = 0;
    for (const auto& event : events)
      if (event.kind == kind && event.reason == reason) blocks += event.blocks;
    return blocks;
  }

  ScriptedCopier copier;
  std::vector<engine::KvEvent> events;
  engine::OffloadTier tier;
  engine::VirtualClock clock;
};

const Tokens kA = tokens(33, 1), kB = tokens(33, 2), kC = tokens(33, 3), kD = tokens(33, 4);

}  // namespace

TEST_CASE("what a step has computed is stored, found and loaded", "[O1]") {
  OffloadWorld world;
  Request& first = world.admitted(kA);
  first.num_computed_tokens = 32;
  world.step({&first});
  CHECK(world.copier.pending() == Texts{"store 1>0 2>1"});
  CHECK(world.blocks_of(KvEventKind::store, KvReason::write_through) == 2);
  CHECK(world.refs(1, 3) == Ids{2, 2, 1});
  world.poll();
  CHECK(world.refs(1, 3) == Ids{1, 1, 1});
  Request& second = world.sequence(kA);
  const auto hit = world.tier.find(second, 0);
  CHECK((hit.tokens == 32 && !hit.blocking));
  REQUIRE(world.kv.try_admit_loading(second, {}, 32, 0).fit == engine::Fit::ok);
  world.tier.load(second, 0, 2);
  world.step({});
  CHECK(world.copier.pending() == Texts{"load 0>4 1>5"});
  CHECK(world.refs(4, 5) == Ids{2, 2});
  CHECK(world.poll() == 1);
  CHECK(second.num_computed_tokens == 32);
  CHECK(world.refs(4, 5) == Ids{1, 1});
}

TEST_CASE("every step with requests waits for the connector, and others do not") {
  OffloadWorld world({.step_cost = 3ms});
  Request& request = world.admitted(kA);
  world.step({&request});
  CHECK(world.clock.now() == 3ms);
  world.step({});
  CHECK(world.clock.now() == 3ms);
}

TEST_CASE("a lookup leaves the last token to be computed", "[O2]") {
  OffloadWorld world;
  world.store(tokens(32));
  CHECK(world.lookup(tokens(32)) == 16);
  CHECK(world.lookup(tokens(33)) == 32);
}

TEST_CASE("content that the host has, or expects, is not stored twice", "[O3]") {
  OffloadWorld world;
  Request& first = world.admitted(kA);
  world.step({&first});
  Request& second = world.admitted(kA);
  world.step({&second});
  CHECK(world.copier.batches.size() == 1);
  CHECK(world.tier.host().num_free() == 6);
  world.poll();
  Request& third = world.admitted(kA);
  world.step({&third});
  CHECK(world.copier.batches.empty());
  CHECK(world.tier.usage().used_blocks == 2);
}

TEST_CASE("the least recently used content is evicted", "[O4]") {
  OffloadWorld world({.gpu_blocks = 64, .host_blocks = 4});
  world.store(kA);
  world.store(kB);
  Request& c = world.admitted(kC);
  world.step({&c});
  CHECK(world.blocks_of(KvEventKind::evict_host, KvReason::unread) == 2);
  world.poll();
  CHECK(world.lookup(kA) == 0);
  CHECK(world.lookup(kB) == 32);
  CHECK(world.lookup(kC) == 32);
}

TEST_CASE("content that was looked up counts as used", "[O4]") {
  OffloadWorld world({.gpu_blocks = 64, .host_blocks = 4});
  world.store(kA);
  world.store(kB);
  CHECK(world.lookup(kA) == 32);
  Request& c = world.admitted(kC);
  world.step({&c});
  CHECK(world.blocks_of(KvEventKind::evict_host, KvReason::unread) == 2);
  world.poll();
  CHECK(world.lookup(kA) == 32);
  CHECK(world.lookup(kB) == 0);
  Request& d = world.admitted(kD);
  world.step({&d});
  CHECK(world.blocks_of(KvEventKind::evict_host, KvReason::unread) == 2);  // c's
}

TEST_CASE("the head of a stored sequence is evicted before its tail", "[O5]") {
  OffloadWorld world({.gpu_blocks = 64, .host_blocks = 4});
  world.store(kA);
  world.store(kB);
  world.store(tokens(17, 3));
  Request& a = world.sequence(kA);
  CHECK(world.lookup(a) == 0);
  CHECK(world.tier.usage().used_blocks == 4);
  CHECK(world.tier.host().find(a.contents[1]));
}

TEST_CASE("what a lookup found is kept until it is loaded", "[O6]") {
  OffloadWorld world({.gpu_blocks = 64, .host_blocks = 4});
  world.store(kA);
  Request& b = world.sequence(kA);
  CHECK(world.lookup(b) == 32);
  Request &c = world.admitted(kC), &d = world.admitted(kD);
  world.step({&c, &d});
  CHECK(world.copier.pending().size() == 1);
  CHECK(world.blocks_of(KvEventKind::store, KvReason::write_through) == 2);
  world.poll();
  REQUIRE(world.kv.try_admit_loading(b, {}, 32, 0).fit == engine::Fit::ok);
  world.tier.load(b, 0, 2);
  world.step({&c, &d});  // evicts c's content for d's, not the content being loaded
  CHECK(world.poll() == 1);
  CHECK(world.lookup(kA) == 32);
  CHECK(world.lookup(kD) == 32);
}

TEST_CASE("a hit behind what the GPU has is loaded to just these blocks", "[O7]") {
  OffloadWorld world({.gpu_blocks = 32});
  const Tokens prompt = tokens(97);
  world.store(prompt);
  Request& other = world.admitted(tokens(29 * 16, 9));  // evicts all but the first two
  world.free(other);
  Request& request = world.sequence(prompt);
  const Ids hits = world.hits(request);
  REQUIRE(hits.size() == 2);
  CHECK(world.lookup(request, 32) == 64);
  const auto found = world.kv.find_prefix(request);
  REQUIRE(world.kv.try_admit_loading(request, found, 64, 0).fit == engine::Fit::ok);
  world.tier.load(request, 2, 2);  // of the four
  world.step({});
  const auto& batch = world.copier.batches.front();
  REQUIRE(batch.copies.size() == 2);
  CHECK((batch.copies[0].block == request.blocks[2] && batch.copies[1].block == request.blocks[3]));
  CHECK(batch.copies[0].slot == engine::HostSlot{2});
  world.poll();
  CHECK(request.num_computed_tokens == 64);
  for (std::uint32_t slot = 0; slot < 6; ++slot)
    CHECK(world.tier.host().holders(engine::HostSlot{slot}) == 0);
}

TEST_CASE("each chunk of a prompt is stored when the next one runs", "[O8]") {
  OffloadWorld world;
  Request& request = world.sequence(tokens(65));
  REQUIRE(world.admit(request, 32));
  world.step({&request});
  CHECK(world.copier.pending() == Texts{"store 1>0 2>1"});
  REQUIRE(world.kv.try_grow(request, 32));
  request.num_computed_tokens = 64;
  world.step({&request});
  CHECK(world.copier.pending() == Texts{"store 1>0 2>1", "store 3>2 4>3"});
}

TEST_CASE("a turn that ends while its blocks are stored leaves them to the copy", "[O9][C10]") {
  OffloadWorld world;
  Request& request = world.admitted(kA);
  world.step({&request});
  world.end(request);
  CHECK(world.refs(1, 3) == Ids{1, 1, 0});
  CHECK(world.kv.census().copying == 2);
  world.poll();
  CHECK(world.kv.num_free() == 15);
  CHECK(world.lookup(kA) == 32);
  CHECK(world.tier.host().num_free() == 8);
}

TEST_CASE("a request that ends while it loads leaves its blocks to the copy", "[O9]") {
  OffloadWorld world;
  world.store(kA);
  Request& request = world.sequence(kA);
  world.lookup(request);
  REQUIRE(world.kv.try_admit_loading(request, {}, 32, 0).fit == engine::Fit::ok);
  world.tier.load(request, 0, 2);
  world.step({});
  world.end(request);
  CHECK(world.kv.census().copying == 2);
  CHECK(world.poll() == 0);
  CHECK(world.kv.num_free() == 15);
  CHECK(world.tier.host().num_free() == 8);
}

TEST_CASE("by the second turn, blocks are stored once another turn has found them") {
  OffloadWorld world({.store = engine::StoreMode::second_turn});
  Request& first = world.admitted(tokens(32));
  world.step({&first});
  world.end(first);
  CHECK(world.copier.pending().empty());
  Request& second = world.sequence(tokens(48));
  second.spec.turn = 1;
  REQUIRE(world.admit(second, 16));
  world.step({&second});
  CHECK(world.copier.pending() == Texts{"store 1>0 2>1"});
}

TEST_CASE("lazily, blocks are stored when they are next to be evicted", "[O10]") {
  OffloadWorld world({.gpu_blocks = 8, .store = engine::StoreMode::lazy});
  Request& request = world.admitted(tokens(32));
  world.free(request);
  world.admitted(tokens(5 * 16, 1));
  REQUIRE(world.free_list() == Ids{2, 1});
  world.step({});
  CHECK(world.copier.pending() == Texts{"store 2>0 1>1"});
  CHECK(world.blocks_of(KvEventKind::store, KvReason::before_eviction) == 2);
  CHECK(world.kv.num_free() == 0);
  world.poll();
  CHECK(world.kv.num_free() == 2);
  world.step({});
  CHECK(world.copier.batches.empty());
}

TEST_CASE("while requests wait and nothing runs nothing is stored lazily", "[O10]") {
  OffloadWorld world({.gpu_blocks = 8, .store = engine::StoreMode::lazy});
  world.free(world.admitted(tokens(32)));
  engine::StepPlan stuck;
  stuck.stop = engine::StopReason::kv_insufficient;
  world.tier.before_execution(stuck, world.clock);
  CHECK(world.copier.batches.empty());
}

TEST_CASE("a block that holds nothing reusable is neither stored nor found", "[O11]") {
  OffloadWorld world;
  Request& request = world.admitted(tokens(20));
  request.num_computed_tokens = 32;  // as if the second block had been computed, unregistered
  world.step({&request});
  CHECK(world.copier.pending() == Texts{"store 1>0"});
  world.poll();
  CHECK(world.lookup(tokens(40)) == 16);
}

TEST_CASE("stored content is found when its copy is done, not before", "[O12]") {
  OffloadWorld world;
  world.copier.latency = 3;
  Request& request = world.admitted(kA);
  world.step({&request});
  for (int polls = 1; polls <= 3; ++polls) {
    CHECK(world.lookup(kA) == 0);
    world.poll();
  }
  CHECK(world.lookup(kA) == 32);
}

TEST_CASE("blocks that a turn's last step completed are stored if tail_store is set", "[offload]") {
  for (const bool tail : {true, false}) {
    OffloadWorld world({.tail_store = tail});
    Request& request = world.admitted(kA);
    world.step({&request});
    REQUIRE(world.append(request, tokens(16, 7)));
    world.events.clear();
    world.tier.on_turn_finish(request, 0ns);
    world.end(request);
    world.poll();
    CHECK(world.blocks_of(KvEventKind::store, KvReason::tail) == (tail ? 1 : 0));
    CHECK(world.tier.usage().used_blocks == (tail ? 3 : 2));
  }
}

TEST_CASE("with every slot taken a store waits for the next step", "[offload]") {
  OffloadWorld world({.host_blocks = 1});
  world.copier.latency = 2;
  Request& request = world.admitted(kA);
  world.step({&request});
  CHECK(world.copier.pending() == Texts{"store 1>0"});
  world.poll();
  world.step({&request});
  CHECK(world.copier.batches.size() == 1);
  world.poll();
  world.step({&request});
  CHECK(world.copier.pending() == Texts{"store 2>0"});
}

TEST_CASE("content that could not be loaded is not hit again", "[offload]") {
  OffloadWorld world;
  world.store(kA);
  world.copier.fails = [](const auto&) { return true; };
  Request& request = world.sequence(kA);
  world.lookup(request);
  REQUIRE(world.kv.try_admit_loading(request, {}, 32, 0).fit == engine::Fit::ok);
  world.tier.load(request, 0, 2);
  world.step({});
  CHECK(world.poll() == 1);
  CHECK(request.num_computed_tokens == 0);
  CHECK(world.lookup(kA) == 0);
  CHECK(world.tier.host().num_free() == 8);
}

// As in the simple connector. Waiting for a prefetch: see the prefetch tests.
TEST_CASE("two requests for the same content each load a copy, and neither loses it", "[M7]") {
  OffloadWorld world;
  world.copier.latency = 2;
  world.store(kA);
  world.poll();
  Request &first = world.sequence(kA), &second = world.sequence(kA);
  for (Request* request : {&first, &second}) {
    const auto hit = world.tier.find(*request, 0);
    REQUIRE((hit.tokens == 32 && !hit.coming));
    REQUIRE(world.kv.try_admit_loading(*request, {}, 32, 0).fit == engine::Fit::ok);
    world.tier.load(*request, 0, 2);
  }
  world.step({});
  CHECK(world.copier.pending() == Texts{"load 0>4 1>5", "load 0>6 1>7"});
  CHECK(world.tier.host().holders(engine::HostSlot{0}) == 2);
  world.poll();
  CHECK(world.poll() == 2);
  CHECK((first.num_computed_tokens == 32 && second.num_computed_tokens == 32));
  for (Request* request : {&first, &second}) {
    world.kv.register_loaded(*request);
    world.end(*request);
  }
  CHECK(world.hits(world.sequence(kA)).size() == 2);
  CHECK(world.tier.host().num_free() == 8);
}

TEST_CASE("stores of a preempted request complete, and no request waits for them", "[M8]") {
  SchedulerWorld world({.kv = {7, 4, true},
                        .scheduler = {.max_num_batched_tokens = 16,
                                      .max_num_seqs = 2,
                                      .max_model_len = 24,
                                      .reserve_full_sequence = false},
                        .tier = {.kind = engine::TierKind::offload, .host_blocks = 16}});
  world.copier.latency = 20;
  world.add("a", {.prompt = tokens(8, 1), .outputs = tokens(8, 2)});
  world.add("b", {.prompt = tokens(8, 3), .outputs = tokens(8, 4)});
  CHECK(world.step() == "a:8 b:8");
  const Ids prompt = world.table("b");
  while (world.preempted().empty()) world.step();
  CHECK((world.preempted() == "b" && world.running() == "a"));
  for (const std::uint32_t block : prompt) {
    CHECK(world.kv.copies(engine::BlockId{block}) == 1);
    CHECK(std::ranges::count(world.free_list(), block) == 0);
  }
  world.run_until_idle();
  for (int i = 0; i < 20; ++i) world.step();
  CHECK((world.kv.num_free() == 6 && world.tier.usage().used_blocks >= 4));
}
