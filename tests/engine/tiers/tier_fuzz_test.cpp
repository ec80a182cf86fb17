#include <functional>
#include <map>

#include "tests/engine/support/fuzz_driver.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::KvEventKind;
using engine::KvReason;

namespace {

struct Totals {
  int stored = 0, lazily = 0, tails = 0, loaded = 0, failed = 0, dropped = 0, evicted = 0,
      swapped = 0;
};

/// Outcomes of prefetches, in blocks.
struct Ahead {
  std::map<KvReason, int> blocks;

  void count(const SchedulerWorld& world) {
    for (const engine::KvEvent& event : world.events())
      if (event.kind == KvEventKind::prefetch || event.kind == KvEventKind::drop)
        blocks[event.reason] += event.blocks;
  }
};

void play(const FuzzCase& fuzz, std::uint64_t seed, Totals& totals, Ahead* ahead = nullptr,
          const std::function<void(const SchedulerWorld&)>& at_end = {}) {
  Dice dice(seed);
  SchedulerWorld world(fuzz.config);
  world.copier.latency = dice.any({1, 1, 2, 5});
  world.copier.per_poll = dice.any({1, 2, 1000});
  world.copier.can_withdraw = dice.one_in(2);
  world.shadow.reads_at_once = dice.one_in(2);
  if (dice.one_in(5)) {
    world.copier.fails = [&dice](const ScriptedCopier::Batch& batch) {
      return batch.direction == engine::CopyDirection::load && dice.one_in(3);
    };
  }
  world.shadow.disk.latency = engine::Nanos{dice.any({0, 5, 10, 35}) * 1'000'000};
  FuzzDriver(fuzz, world, {}).run();
  if (at_end) at_end(world);
  if (ahead != nullptr) ahead->count(world);
  totals.stored += world.blocks_of(KvEventKind::store, KvReason::write_through);
  totals.lazily += world.blocks_of(KvEventKind::store, KvReason::before_eviction);
  totals.tails += world.blocks_of(KvEventKind::store, KvReason::tail);
  totals.loaded += world.blocks_of(KvEventKind::load, KvReason::demand);
  totals.failed += world.blocks_of(KvEventKind::load_failed, KvReason::load_failed);
  totals.dropped += world.blocks_of(KvEventKind::drop, KvReason::pressure_admit) +
                    world.blocks_of(KvEventKind::drop, KvReason::pressure_run);
  totals.swapped += world.blocks_of(KvEventKind::swap_out, KvReason::swapped_out);
  totals.evicted += world.blocks_of(KvEventKind::evict_host, KvReason::read) +
                    world.blocks_of(KvEventKind::evict_host, KvReason::unread);
}

FuzzCase make_case(std::uint64_t seed) {
  const auto retained = seed % 2 == 0 ? Retained::pins : Retained::nothing;
  FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority", "job_fcfs"}, retained);
  add_tier(fuzz, seed);
  return fuzz;
}

}  // namespace

TEST_CASE("with a host tier nothing stalls, nothing is lost, and all KV read is what was written",
          "[fuzz]") {
  const bool async = GENERATE(false, true);
  Totals totals;
  for_each_seed(3000, [&](std::uint64_t seed) {
    FuzzCase fuzz = make_case(seed);
    if (async) make_async(fuzz);
    try {
      play(fuzz, seed, totals);
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
  INFO("stored " << totals.stored << ", lazily " << totals.lazily << ", tails " << totals.tails
                 << ", loaded " << totals.loaded << ", failed " << totals.failed << ", evicted "
                 << totals.evicted);
  if (few_seeds()) return;
  for (const int count : {totals.stored, totals.lazily, totals.tails, totals.loaded, totals.failed,
                          totals.evicted, totals.swapped})
    CHECK(count > 0);
}

TEST_CASE("with the tier of vLLM 0.33 nothing stalls, and all KV read is what was written",
          "[fuzz]") {
  const bool async = GENERATE(false, true);
  Totals totals;
  for_each_seed(3000, [&](std::uint64_t seed) {
    const auto retained = seed % 2 == 0 ? Retained::pins : Retained::nothing;
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority", "job_fcfs"}, retained);
    add_connector(fuzz, seed);
    if (seed % 3 == 0) add_admission(fuzz, seed);
    if (seed % 5 == 0) add_eviction(fuzz, seed);
    if (seed % 5 == 1) add_eviction_rule(fuzz, "slru", seed);
    if (seed % 5 == 2) add_eviction_rule(fuzz, "cost_aware", seed);
    if (seed % 10 == 3) add_plugin(fuzz, seed);
    if (async) make_async(fuzz);
    try {
      play(fuzz, seed, totals);
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
  INFO("stored " << totals.stored << ", tails " << totals.tails << ", loaded " << totals.loaded
                 << ", failed " << totals.failed << ", evicted " << totals.evicted);
  if (few_seeds()) return;
  for (const int count :
       {totals.stored, totals.tails, totals.loaded, totals.failed, totals.evicted})
    CHECK(count > 0);
}

TEST_CASE("with a disk behind host memory nothing stalls, and all KV read is what was written",
          "[fuzz]") {
  const bool async = GENERATE(false, true);
  Totals totals;
  int written = 0, read = 0, evicted = 0;
  for_each_seed(3000, [&](std::uint64_t seed) {
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "job_fcfs"},
                                   seed % 2 == 0 ? Retained::pins : Retained::nothing);
    const std::string rule = seed % 3 == 0 ? "next_use" : "lru";
    seed % 5 < 2 ? add_host_eviction(fuzz, rule, seed) : add_connector(fuzz, seed);
    if (fuzz.config.tier.kind != engine::TierKind::offload) return;
    if (seed % 3 == 1) add_admission(fuzz, seed);
    add_disk(fuzz, seed);
    if (async) make_async(fuzz);
    try {
      play(fuzz, seed, totals, nullptr, [&](const SchedulerWorld& world) {
        written += world.shadow.disk.written;
        read += world.shadow.disk.read_back;
        evicted += world.blocks_of(KvEventKind::evict_disk, KvReason::capacity);
      });
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
  INFO("written " << written << ", read " << read << ", evicted " << evicted);
  if (few_seeds()) return;
  for (const int count : {totals.loaded, totals.evicted, written, read, evicted}) CHECK(count > 0);
}

TEST_CASE("whatever a plugin decides, nothing stalls, and all KV read is what was written",
          "[fuzz][plugin]") {
  const bool async = GENERATE(false, true);
  Totals totals;
  Ahead ahead;
  std::map<std::string, int> decided;
  for_each_seed(3000, [&](std::uint64_t seed) {
    const auto retained = seed % 2 == 0 ? Retained::pins : Retained::nothing;
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority", "job_fcfs"}, retained);
    if (seed % 3 == 0) add_tier(fuzz, seed);
    if (seed % 3 == 1) add_prefetch(fuzz, seed);
    add_plugin(fuzz, seed);
    if (async) make_async(fuzz);
    for (const std::string& axis : policies::plugin_axes(fuzz.config.policy)) ++decided[axis];
    try {
      play(fuzz, seed, totals, &ahead);
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
  if (few_seeds()) return;
  CHECK(decided.size() == 4);
  for (const auto& [axis, cases] : decided) {
    INFO(axis);
    CHECK(cases > 100);
  }
  for (const int count : {totals.stored, totals.loaded, totals.evicted}) CHECK(count > 0);
}

TEST_CASE("whatever leaves the host first, nothing stalls, and all KV read is what was written",
          "[fuzz]") {
  const std::string rule = GENERATE(from_range(policies::host_eviction_names()));
  const bool async = GENERATE(false, true);
  CAPTURE(rule, async);
  Totals totals;
  for_each_seed(2000, [&](std::uint64_t seed) {
    const auto retained = seed % 4 == 0 ? Retained::pins : Retained::nothing;
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority", "job_fcfs"}, retained);
    add_host_eviction(fuzz, rule, seed);
    if (seed % 5 == 0) add_admission(fuzz, seed);
    if (async) make_async(fuzz);
    try {
      play(fuzz, seed, totals);
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
  if (few_seeds()) return;
  for (const int count : {totals.stored, totals.lazily, totals.loaded, totals.evicted})
    CHECK(count > 0);
}

TEST_CASE("with KV loaded ahead of its turns, too", "[fuzz][prefetch]") {
  const bool async = GENERATE(false, true);
  Totals totals;
  Ahead ahead;
  for_each_seed(3000, [&](std::uint64_t seed) {
    const auto retained = seed % 4 == 0 ? Retained::pins : Retained::nothing;
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority", "job_fcfs"}, retained);
    add_prefetch(fuzz, seed);
    if (async) make_async(fuzz);
    try {
      play(fuzz, seed, totals, &ahead);
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
  if (few_seeds()) return;
  for (const KvReason reason :
       {KvReason::deadline, KvReason::predicted, KvReason::late, KvReason::misprediction,
        KvReason::cancelled, KvReason::no_room, KvReason::pressure_run, KvReason::pressure_admit,
        KvReason::capacity}) {
    INFO(to_string(reason));
    CHECK(ahead.blocks[reason] > 0);
  }
}
