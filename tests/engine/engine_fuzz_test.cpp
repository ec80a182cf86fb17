#include <algorithm>

#include "tests/engine/support/engine_world.hpp"
#include "tests/engine/support/fuzz_case.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/sim/link_copier.hpp"

using namespace support;
using engine::Nanos;

namespace {

/// Runs a fuzz case through the engine: each turn arrives some time after the previous one, and
/// steps take random times.
class EngineRun {
 public:
  EngineRun(const FuzzCase& fuzz, std::uint64_t seed)
      : dice_(seed),
        link_({dice_.any({0.01, 1.0, 50.0}), dice_.any({0.01, 1.0, 50.0}), 0.8, dice_.one_in(8),
               1'000'000}),
        content_(engine_config(fuzz).engine.kv),
        shadow_(link_, content_),
        async_(fuzz.config.async),
        world_(engine_config(fuzz), &shadow_),
        clients_(fuzz.jobs.size()) {
    shadow_.reads_at_once = dice_.one_in(2);
    world_.backend.on_execute = [this](const auto& plan) { content_.execute(plan); };
    world_.backend.duration_of = [this](const auto&) {
      return Nanos(dice_.between(1, 30'000'000));
    };
    for (std::size_t j = 0; j < clients_.size(); ++j) {
      clients_[j].job = &fuzz.jobs[j];
      // No two arrivals at the same instant, for the reason given in FuzzDriver.
      clients_[j].arrival = Nanos(fuzz.jobs[j].arrival_step * 1'000'000 + static_cast<int>(j));
    }
  }

  void run() {
    for (int step = 0; advance(); ++step) {
      check(step < 20'000, "the jobs end");
      const engine::StepTrace& trace = world_.engine.step(next_arrival());
      check_trace(trace);
      for (const engine::Request* r : trace.finished) on_finished(*r, trace.end);
    }
    check(world_.engine.idle(), "the engine is idle when all jobs are over");
    for (int step = 0; world_.engine.copying(); ++step) {
      check(step < 20'000, "copies end");
      world_.engine.step();
    }
    check(world_.engine.kv().census().copying == 0, "no block is left to a copy");
  }

 private:
  struct Client {
    const FuzzJob* job = nullptr;
    std::size_t turn = 0;
    bool busy = false;
    Nanos arrival{0}, job_arrival{0};
    Tokens context;
  };

  static EngineWorldConfig engine_config(const FuzzCase& fuzz) {
    EngineWorldConfig config{{fuzz.config.kv, fuzz.config.scheduler, fuzz.config.tier},
                             fuzz.config.policy};
    config.engine.async_scheduling = fuzz.config.async;
    auto& kv = config.engine.kv;
    const auto& s = config.engine.scheduler;
    // The engine requires room for a sequence of any permitted length.
    kv.num_blocks = std::max(kv.num_blocks, 2 + s.max_model_len / kv.block_size);
    return config;
  }

  static void check(bool holds, const std::string& rule) {
    if (!holds) throw std::logic_error(rule);
  }

  static bool pending(const Client& c) { return !c.busy && c.turn < c.job->turns.size(); }
  Nanos next_arrival() const {
    Nanos next = Nanos::max();
    for (const Client& c : clients_)
      if (pending(c)) next = std::min(next, c.arrival);
    return next;
  }

  /// Submits turns that have arrived; jumps to the next arrival when there is nothing else to do.
  /// False at the end.
  bool advance() {
    if (world_.engine.idle()) {
      const Nanos next = next_arrival();
      if (next == Nanos::max()) return false;
      world_.clock.wait_until(next);
    }
    for (Client& c : clients_)
      if (pending(c) && c.arrival <= world_.clock.now()) submit(c);
    return true;
  }

  void submit(Client& client) {
    const FuzzTurn& turn = client.job->turns[client.turn];
    if (client.turn == 0) client.job_arrival = client.arrival;
    const auto computed = static_cast<int>(client.context.size());
    client.context = client.context + turn.fresh;
    client.busy = true;
    engine::RequestSpec spec;
    spec.job = engine::JobId{static_cast<std::uint32_t>(&client - clients_.data())};
    spec.turn = static_cast<int>(client.turn);
    spec.last_turn = turn.says_last;
    spec.tool = engine::ToolId{turn.tool};
    spec.priority = turn.priority;
    spec.arrival = client.arrival;
    spec.job_arrival = client.job_arrival;
    spec.prompt = client.context;
    spec.forced = turn.outputs;
    spec.max_tokens = static_cast<int>(turn.outputs.size());
    spec.computed_by_earlier_turns = std::max(0, computed - 1);
    world_.engine.submit(spec);
  }

  void on_finished(const engine::Request& request, Nanos end) {
    Client& client = clients_[engine::index(request.spec.job)];
    const FuzzTurn& turn = client.job->turns[client.turn];
    check(request.outputs == turn.outputs, "a request ends with its outputs");
    const auto& [queue, stall, recompute, prefill, decode] = request.time;
    check(std::min({queue, stall, recompute, prefill, decode}) >= Nanos(0), "no time is negative");
    check(queue + stall + recompute + prefill + decode == end - request.spec.arrival,
          "the parts of a turn's time add up to the whole");
    check(client.arrival <= request.admitted && request.admitted < request.first_token &&
              request.first_token <= end,
          "arrival, admission, first token and end follow each other");
    client.context = client.context + turn.outputs;
    client.arrival = end + Nanos(turn.gap_steps * 10'000'000 + index(request.spec.job));
    client.busy = false;
    ++client.turn;
  }

  void check_trace(const engine::StepTrace& trace) {
    const auto& b = trace.blocks;
    check(
        b.allocated + b.pinned + b.copying + b.cached + b.empty == world_.engine.kv().num_usable(),
        "the census covers the pool");
    int evicted = 0, preempted = 0;
    for (const engine::KvEvent& event : trace.kv_events) {
      evicted += event.kind == engine::KvEventKind::evict_gpu ? event.blocks : 0;
      preempted += event.kind == engine::KvEventKind::preempt ? 1 : 0;
      check(trace.start <= event.at && event.at <= trace.end, "events happen within their step");
    }
    check(evicted == static_cast<int>(trace.evictions.size()), "evictions are summed up by event");
    // Events of a step that is scheduled ahead come with the trace of the one before.
    check(async_ || preempted == static_cast<int>(trace.plan->preempted.size()),
          "every preemption is an event");
    world_.engine.kv().verify();
  }

  Dice dice_;
  backends::LinkCopier link_;
  TaggedKv content_;
  ShadowCopier shadow_;
  bool async_;
  EngineWorld world_;
  std::vector<Client> clients_;
};

}  // namespace

TEST_CASE("the parts of every turn's time add up, and traces tell what happened", "[fuzz]") {
  for_each_seed(2000, [](std::uint64_t seed) {
    const auto retained = seed % 2 == 0 ? Retained::pins : Retained::nothing;
    FuzzCase fuzz = make_fuzz_case(
        seed, {"fcfs", "priority", "job_fcfs", "attained_service", "srpt", "longest_prefix"},
        retained);
    if (seed % 3 != 0) add_tier(fuzz, seed);
    if (seed % 6 == 0) add_connector(fuzz, seed);
    if (seed % 5 < 2) add_admission(fuzz, seed);
    try {
      EngineRun(fuzz, seed).run();
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
}

TEST_CASE("with steps in flight the parts of every turn's time add up as well", "[fuzz]") {
  for_each_seed(2000, [](std::uint64_t seed) {
    FuzzCase fuzz = make_fuzz_case(
        seed, {"fcfs", "priority", "job_fcfs", "attained_service", "srpt", "longest_prefix"},
        seed % 2 == 0 ? Retained::pins : Retained::nothing);
    if (seed % 4 == 0) add_connector(fuzz, seed);
    if (seed % 4 == 1) add_tier(fuzz, seed);
    if (seed % 4 == 2) add_preemption(fuzz, seed);
    if (seed % 5 < 2) add_admission(fuzz, seed);
    make_async(fuzz);
    try {
      EngineRun(fuzz, seed).run();
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
}
