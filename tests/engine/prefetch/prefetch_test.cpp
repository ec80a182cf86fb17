// KV that is loaded before its turn arrives, over a modelled link: 1 ms per block in either
// direction. Steps take 10 ms.
#include <map>

#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/sim/link_copier.hpp"
#include "workers/engine/base/errors.hpp"

using namespace support;
using namespace std::chrono_literals;
using engine::JobId;
using engine::KvEventKind;
using engine::KvReason;
using engine::Nanos;

namespace {

/// Predicts when jobs return, right or wrong, and scores every load as worthwhile.
class Timetable final : public engine::PrefetchPolicy {
 public:
  void on_arrival(const engine::Request&) override {}
  void on_turn_finish(const engine::Request&, Nanos) override {}
  engine::LoadTime load_time(JobId job, bool arrived) const override {
    if (with_room) return engine::LoadTime::with_room;
    return arrived || returns.contains(job) ? engine::LoadTime::in_time
                                            : engine::LoadTime::on_demand;
  }
  Nanos returns_by(JobId job, double, Nanos now) const override {
    const auto known = returns.find(job);
    return std::max(now, known == returns.end() ? now + 1s : known->second);
  }
  double recompute_s(int, int missing) const override { return recompute * missing; }
  double score(const engine::AwaitedKv&, const engine::Scarcity&) const override { return worth; }
  bool ranks_host_tier() const override { return ranks; }

  std::map<JobId, Nanos> returns;
  double worth = 1;
  double recompute = 1;  // seconds per token
  bool ranks = false;
  bool with_room = false;
};

struct PrefetchSizes {
  int gpu_blocks = 6;
  int host_blocks = 64;
  int quantum = 32;
};

struct Seen {
  KvEventKind kind;
  KvReason reason;
  int job, blocks;
  Nanos at;
};

/// Jobs with turns that the test submits, over a tier that prefetches by the timetable.
class PrefetchWorld {
 public:
  explicit PrefetchWorld(const PrefetchSizes& sizes = {})
      : world_(config(sizes, timetable), &link_) {}

  /// The job's next turn arrives.
  engine::RequestId arrive(int job, const Tokens& prompt, bool last = false, int outputs = 1) {
    prompts_.push_back(prompt);
    engine::RequestSpec spec;
    spec.job = JobId{static_cast<std::uint32_t>(job)};
    spec.turn = turns_[job]++;
    spec.last_turn = last;
    return world_.submit(prompts_.back(), outputs, spec);
  }
  engine::Request run(engine::RequestId id) {
    for (int i = 0; i < 10'000; ++i)
      for (const engine::Request* r : note(world_.engine.step()).finished)
        if (r->id == id) return *r;
    throw std::logic_error("the request does not finish");
  }
  engine::Request serve(int job, const Tokens& prompt, bool last = false) {
    return run(arrive(job, prompt, last));
  }
  /// Lets the engine copy, and wakes it when it must wake, as its client does.
  void idle_until(Nanos t) {
    while (clock().now() < t && (!engine().idle() || engine().wakeup() < t)) {
      if (!engine().idle()) {
        note(engine().step(std::min(t, engine().wakeup())));
      } else {
        clock().wait_until(engine().wakeup());
        note(engine().wake());
      }
    }
    clock().wait_until(t);
  }
  const engine::StepTrace& step() { return note(world_.engine.step()); }

  int blocks_of(KvEventKind kind, KvReason reason, int job = -1) const {
    int blocks = 0;
    for (const Seen& e : seen)
      if (e.kind == kind && e.reason == reason && (job < 0 || e.job == job)) blocks += e.blocks;
    return blocks;
  }
  const Seen* first(KvEventKind kind, KvReason reason) const {
    for (const Seen& e : seen)
      if (e.kind == kind && e.reason == reason) return &e;
    return nullptr;
  }
  engine::Engine& engine() { return world_.engine; }
  engine::VirtualClock& clock() { return world_.clock; }

  Timetable timetable;
  std::vector<Seen> seen;

 private:
  static EngineWorldConfig config(const PrefetchSizes& sizes, Timetable& timetable) {
    EngineWorldConfig config;
    const int tokens = 16 * sizes.gpu_blocks;
    config.engine.kv = {sizes.gpu_blocks + 1, 16, true};
    config.engine.scheduler = {
        .max_num_batched_tokens = tokens, .max_num_seqs = 4, .max_model_len = tokens};
    engine::TierConfig& tier = config.engine.tier;
    tier.kind = engine::TierKind::offload;
    tier.store_mode = engine::StoreMode::all;
    tier.host_blocks = sizes.host_blocks;
    tier.transfers.quantum_blocks = sizes.quantum;
    tier.transfers.block_load_time = 1ms;
    tier.prefetch = &timetable;
    return config;
  }
  const engine::StepTrace& note(const engine::StepTrace& trace) {
    for (const engine::KvEvent& e : trace.kv_events)
      seen.push_back({e.kind, e.reason, static_cast<int>(engine::index(e.job)), e.blocks, e.at});
    return trace;
  }

  backends::LinkCopier link_{{1, 1, 1, false, 1'000'000}};
  EngineWorld world_;
  std::deque<Tokens> prompts_;
  std::map<int, int> turns_;
};

const Tokens kA = tokens(33, 1), kB = tokens(49, 2), kAll = tokens(90, 3);

/// Runs a turn of two blocks of job 0, then evicts them by using the whole pool.
void give_up(PrefetchWorld& world, const Tokens& prompt = kA) {
  world.serve(0, prompt);
  world.idle_until(30ms);
  world.serve(9, kAll, true);
}

}  // namespace

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
