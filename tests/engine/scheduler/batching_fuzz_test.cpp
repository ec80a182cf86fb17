// Batching strategies and kinds of preemption, over pools that are far too small.
#include <map>

#include "tests/engine/support/fuzz_driver.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::Batching;
using engine::KvEventKind;
using engine::KvReason;

namespace {

/// Chooses V1 or, more often, one of the schedulers of vLLM 0.4.2.
void choose_batching(FuzzCase& fuzz, Dice& dice) {
  engine::SchedulerConfig& s = fuzz.config.scheduler;
  s.watermark_blocks = dice.any({0, 0, 1, 3});
  // Equal requests would evict each other forever under "priority".
  if (fuzz.config.policy.order == "priority" || dice.one_in(8)) return;
  s.batching = dice.any({Batching::mixed, Batching::prefill_first});
  if (s.chunked_prefill && dice.one_in(2)) {
    s.chunk_tokens = dice.between(1, s.max_num_batched_tokens);
    s.adaptive_chunking = dice.one_in(2);
    // Prompts that are not split must fit the token budget.
    if (s.adaptive_chunking)
      s.max_num_batched_tokens = std::max(s.max_num_batched_tokens, s.max_model_len);
  }
}

void choose_fixed_batches(FuzzCase& fuzz, Dice& dice) {
  engine::SchedulerConfig& s = fuzz.config.scheduler;
  s.batching = Batching::fixed;
  s.chunked_prefill = false;
  s.max_num_batched_tokens = std::max(s.max_num_batched_tokens, s.max_model_len);
  s.buffer_output_tokens = dice.any({0, 1, dice.between(1, 40)});
  const int longest = (s.max_model_len + fuzz.config.kv.block_size - 1) / fuzz.config.kv.block_size;
  fuzz.config.kv = {std::max(fuzz.config.kv.num_blocks, 1 + longest), fuzz.config.kv.block_size,
                    false};
}

/// V1 with a step in flight, and gaps in which KV is swapped.
FuzzCase make_async_case(std::uint64_t seed) {
  Dice dice(seed * 15485863);
  FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "fcfs", "priority", "job_fcfs"}, Retained::nothing);
  if (dice.one_in(3)) add_version(fuzz, seed);
  add_preemption(fuzz, seed);
  if (dice.one_in(3)) add_gaps(fuzz, seed);
  make_async(fuzz);
  return fuzz;
}

FuzzCase make_case(std::uint64_t seed) {
  Dice dice(seed * 15485863);
  FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "fcfs", "priority", "job_fcfs"}, Retained::nothing);
  if (dice.one_in(6)) {
    choose_fixed_batches(fuzz, dice);
  } else {
    choose_batching(fuzz, dice);
    add_preemption(fuzz, seed);
  }
  return fuzz;
}

struct Totals {
  int whole = 0, by_block = 0, back = 0, failed = 0, suspended = 0, in_gaps = 0, ended_in_batch = 0;
};

void play(const FuzzCase& fuzz, std::uint64_t seed, Totals& totals) {
  Dice dice(seed);
  SchedulerWorld world(fuzz.config);
  world.copier.per_poll = dice.any({1, 2, 1000});
  world.shadow.reads_at_once = dice.one_in(2);
  if (dice.one_in(4)) world.copier.fails = [&](const auto&) { return dice.one_in(3); };
  FuzzDriver::Hooks hooks;
  hooks.scheduled = [&] {
    totals.suspended += static_cast<int>(world.scheduler().suspended().size());
    totals.ended_in_batch += static_cast<int>(world.scheduler().ended_in_batch().size());
  };
  FuzzDriver(fuzz, world, hooks).run();
  totals.whole += world.blocks_of(KvEventKind::swap_out, KvReason::swapped_out);
  totals.by_block += world.blocks_of(KvEventKind::swap_out, KvReason::partial);
  totals.in_gaps += world.blocks_of(KvEventKind::swap_out, KvReason::waste);
  totals.back += world.blocks_of(KvEventKind::swap_in, KvReason::demand);
  totals.failed += world.blocks_of(KvEventKind::load_failed, KvReason::load_failed);
}

}  // namespace

TEST_CASE("whatever the batching and the preemption, nothing stalls and all KV read is correct",
          "[fuzz][batching]") {
  const bool async = GENERATE(false, true);
  Totals totals;
  for_each_seed(3000, [&](std::uint64_t seed) {
    const FuzzCase fuzz = async ? make_async_case(seed) : make_case(seed);
    try {
      play(fuzz, seed, totals);
    } catch (const std::exception& error) {
      const engine::SchedulerConfig& s = fuzz.config.scheduler;
      throw std::runtime_error(describe(fuzz) + ", batching " +
                               std::to_string(static_cast<int>(s.batching)) + ", by block " +
                               std::to_string(s.preempt_by_block) + ", chunk " +
                               std::to_string(s.chunk_tokens) + ": " + error.what());
    }
  });
  if (support::few_seeds()) return;
  INFO("whole " << totals.whole << ", by block " << totals.by_block << ", back " << totals.back
                << ", failed " << totals.failed);
  for (const int count :
       {totals.whole, totals.by_block, totals.back, totals.failed, totals.suspended})
    CHECK(count > 0);
  CHECK((totals.in_gaps > 0) == async);
  CHECK((totals.ended_in_batch > 0) == !async);
}
