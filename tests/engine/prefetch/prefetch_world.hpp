#pragma once
// Jobs whose KV is loaded before their turns arrive, over a modelled link: 1 ms per block in either
// direction. Steps take 10 ms.
#include <map>

#include "tests/engine/support/engine_world.hpp"
#include "workers/backends/sim/link_copier.hpp"

namespace prefetch_test {

using support::EngineWorld;
using support::EngineWorldConfig;
using support::tokens;
using support::Tokens;
using namespace std::chrono_literals;
using engine::JobId;
using engine::KvEventKind;
using engine::KvReason;
using engine::Nanos;

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

inline const Tokens kA = tokens(33, 1), kB = tokens(49, 2), kAll = tokens(90, 3);

/// Runs a turn of two blocks of job 0, then evicts them by using the whole pool.
inline void give_up(PrefetchWorld& world, const Tokens& prompt = kA) {
  world.serve(0, prompt);
  world.idle_until(30ms);
  world.serve(9, kAll, true);
}

}  // namespace prefetch_test
