#include "tests/cpu/random_serving.hpp"

#include <sstream>

namespace cpu_test {

std::string describe(const Serving& serving) {
  const engine::KvConfig& kv = serving.engine.kv;
  const engine::SchedulerConfig& scheduler = serving.engine.scheduler;
  std::ostringstream text;
  text << "block size " << kv.block_size << ", " << kv.num_blocks << " blocks, caching "
       << kv.prefix_caching << ", budget " << scheduler.max_num_batched_tokens << ", threshold "
       << scheduler.long_prefill_token_threshold << ", " << serving.policy.order << ", "
       << serving.policy.admission.rule << ", " << serving.policy.retention << ", tier "
       << static_cast<int>(serving.engine.tier.kind)
       << (serving.engine.tier.store_mode == engine::StoreMode::lazy ? " lazy" : "") << " of "
       << serving.engine.tier.host_blocks << " blocks, prefetch " << serving.policy.prefetch
       << (serving.engine.async_scheduling ? ", asynchronous" : "");
  return text.str();
}

namespace {

/// At most a few programs, or those that fit the pool.
void add_random_admission(support::Dice& dice, Serving& serving) {
  const engine::KvConfig& kv = serving.engine.kv;
  policies::AdmissionConfig& admission = serving.policy.admission;
  admission.rule = dice.one_in(3) ? dice.any({"working_set", "thunder", "quota"}) : "max_programs";
  admission.max_programs = dice.any({0, 0, 0, 1, 2});
  admission.pool_tokens = (kv.num_blocks - 1) * kv.block_size;
  admission.parameters["admission_period_s"] = dice.any({0.0, 0.02});
  if (dice.one_in(2)) admission.parameters["shared_prefixes"] = "once";
  if (dice.one_in(2)) admission.parameters["first_wait_s"] = dice.any({0.0, 0.05});
}

}  // namespace

Serving random_serving(support::Dice& dice, model::DType kv_type,
                       std::initializer_list<int> block_sizes) {
  Serving serving;
  engine::KvConfig& kv = serving.engine.kv;
  kv.block_size = dice.any(block_sizes);
  const int blocks_of_one = (kMaxModelLen + kv.block_size - 1) / kv.block_size;
  kv.num_blocks = 1 + blocks_of_one + dice.between(0, blocks_of_one);
  kv.prefix_caching = !dice.one_in(4);
  engine::SchedulerConfig& scheduler = serving.engine.scheduler;
  scheduler.max_model_len = kMaxModelLen;
  scheduler.max_num_seqs = dice.between(1, 6);
  scheduler.max_num_batched_tokens = dice.any({6, 7, 8, 16, 33, 64, 256});
  scheduler.long_prefill_token_threshold = dice.any({0, 0, 1, 5, 16, 50});
  scheduler.reserve_full_sequence = dice.one_in(2);
  serving.policy.order =
      dice.any({"fcfs", "job_fcfs", "job_fcfs", "attained_service", "srpt", "longest_prefix"});
  serving.policy.block_size = kv.block_size;
  add_random_admission(dice, serving);
  serving.policy.retention = serving.policy.order == "fcfs" ? "free" : dice.any({"free", "pin"});
  serving.kv_type = kv_type;
  serving.checks = dice.one_in(2) ? backends::Checks::debug : backends::Checks::off;
  return serving;
}

namespace {

/// Adds prefetching with exact or very inaccurate predictions.
void add_random_prefetch(support::Dice& dice, policies::PolicyConfig& policy) {
  policy.prefetch = dice.any({"oracle", "tool_mean", "lognormal", "at_pause", "at_enqueue"});
  policy.scoring = dice.any({"S1", "S3", "S5"});
  policy.reload = {0, 1e-3, 0};
  policy.estimator.truth = [](engine::JobId job, int) { return gap_of(job); };
  policy.estimator.error.bias = dice.any({1.0, 1.0, 0.2, 5.0});
}

}  // namespace

void add_random_tier(support::Dice& dice, Serving& serving) {
  using engine::TierKind;
  engine::EngineConfig& engine = serving.engine;
  engine::TierConfig& tier = engine.tier;
  tier.kind = dice.any(
      {TierKind::offload, TierKind::offload, TierKind::offload, TierKind::lmcache, TierKind::swap});
  const int chunk_blocks = dice.any({1, 2, 3});
  tier.chunk_tokens = engine.kv.block_size * chunk_blocks;
  const int pool = engine.kv.num_blocks - 1;
  tier.host_blocks = chunk_blocks + dice.any({0, dice.between(0, pool), 2 * pool, 5 * pool});
  using engine::StoreMode;
  tier.store_mode = dice.any({StoreMode::prompt, StoreMode::all, StoreMode::all, StoreMode::all,
                              StoreMode::lazy, StoreMode::second_turn});
  tier.as_v0_26 = dice.one_in(2);
  tier.tail_store = dice.one_in(2);
  tier.swap_partially = dice.one_in(2);
  tier.save_decode = dice.one_in(2);
  tier.transfers.quantum_blocks = dice.any({1, 2, 32});
  tier.transfers.max_ahead = dice.any({0, 1, 3});
  if (tier.kind == TierKind::offload) {
    engine.kv.prefix_caching = true;
    if (dice.one_in(2)) {
      engine.scheduler.version = engine::Version::v0_33;
      engine.kv.partial_blocks_first = true;
    }
    const bool stores =
        tier.store_mode == engine::StoreMode::prompt || tier.store_mode == engine::StoreMode::all;
    if (stores && !dice.one_in(3)) add_random_prefetch(dice, serving.policy);
  } else if (dice.one_in(4)) {
    engine.scheduler.batching = engine::Batching::prefill_first;
  }
  engine.async_scheduling = engine.scheduler.batching == engine::Batching::v1 && dice.one_in(2);
  if (engine.async_scheduling) engine.tier.as_v0_26 = false;  // in small pools jobs may never end
}

void let_plugin_decide(support::Dice& dice, const std::string& object, Serving& serving) {
  policies::PolicyConfig& policy = serving.policy;
  policy.plugin = {.path = object,
                   .num_blocks = serving.engine.kv.num_blocks - 1,
                   .block_size = serving.engine.kv.block_size};
  for (std::string* axis :
       {&policy.order, &policy.admission.rule, &policy.retention, &policy.eviction})
    if (dice.one_in(2)) *axis = "plugin";
}

}  // namespace cpu_test
