#include "tests/engine/support/fuzz_case.hpp"

#include <algorithm>
#include <chrono>

namespace support {
namespace {

using std::chrono::milliseconds;

/// Draws from few different tokens, so that equal content also occurs by chance.
Tokens random_tokens(Dice& dice, int count) {
  Tokens all;
  for (int i = 0; i < count; ++i)
    all.push_back(static_cast<engine::TokenId>(dice.one_in(4) ? dice.between(0, 30) : 7));
  return all;
}

FuzzTurn random_turn(Dice& dice, int max_tokens) {
  FuzzTurn turn;
  turn.fresh = random_tokens(dice, dice.between(1, max_tokens));
  turn.outputs = random_tokens(dice, dice.between(1, max_tokens));
  turn.gap_steps = dice.between(0, 8);
  turn.priority = dice.between(0, 2);
  turn.tool = dice.between(-1, 2);
  if (dice.one_in(12)) turn.abort_after = dice.between(0, 12);
  return turn;
}

std::vector<FuzzJob> random_jobs(Dice& dice) {
  const Tokens system = random_tokens(dice, 24);  // every job starts with a prefix of it
  std::vector<FuzzJob> jobs(static_cast<std::size_t>(dice.between(1, 8)));
  const int rush = dice.any({0, 3, 30});  // steps over which jobs arrive
  for (FuzzJob& job : jobs) {
    job.arrival_step = dice.between(0, rush);
    for (int turns = dice.between(1, 3); turns > 0; --turns)
      job.turns.push_back(random_turn(dice, 12));
    Tokens& first = job.turns.front().fresh;
    first = Tokens(system.begin(), system.begin() + dice.between(0, 24)) + first;
    job.turns.back().says_last = !dice.one_in(4);
  }
  return jobs;
}

int longest_sequence(const std::vector<FuzzJob>& jobs) {
  std::size_t longest = 0;
  for (const FuzzJob& job : jobs) {
    std::size_t tokens = 0;
    for (const FuzzTurn& turn : job.turns) tokens += turn.fresh.size() + turn.outputs.size();
    longest = std::max(longest, tokens);
  }
  return static_cast<int>(longest);
}

WorldConfig random_config(Dice& dice, int longest) {
  WorldConfig config;
  config.kv.block_size = dice.any({1, 1, 2, 3, 4, 8});
  // The last token's KV is never computed.
  const int needed = (longest - 1 + config.kv.block_size - 1) / config.kv.block_size;
  config.kv.num_blocks =
      1 + needed + dice.any({0, 1, dice.between(0, needed), dice.between(0, needed), 2 * needed});
  config.kv.prefix_caching = !dice.one_in(5);
  engine::SchedulerConfig& s = config.scheduler;
  s.max_model_len = longest + dice.between(0, 3);
  s.chunked_prefill = !dice.one_in(4);
  s.max_num_seqs = dice.any({1, 2, 3, 8});
  s.max_num_batched_tokens =
      s.chunked_prefill ? s.max_num_seqs + dice.any({0, 1, 7, 15, 40}) : s.max_model_len;
  s.long_prefill_token_threshold = dice.any({0, dice.between(1, 12)});
  s.reserve_full_sequence = dice.one_in(2);
  return config;
}

void add_pins(Dice& dice, policies::PolicyConfig& policy) {
  policy.retention = "pin";
  const double ttl_s = dice.any({0.01, 0.03, 0.1, 1.0, 1000.0});
  policy.parameters["ttl_s"] = ttl_s;
  policy.parameters["threshold_s"] = dice.any({0.0, 0.04, 1000.0});
  policy.pins.protect_waiting = dice.one_in(2);
  policy.pins.release_on_handoff = dice.one_in(2);
  if (ttl_s > 0.05) policy.pins.most_of_pool = dice.any({1.0, 0.5, 0.2, 0.0});
  policy.pins.pressure_victim =
      dice.any({engine::PressureVictim::latest_job, engine::PressureVictim::latest_deadline});
}

/// The true gaps, in steps of 10 ms.
policies::GapSource gaps_of(const FuzzCase& fuzz) {
  return [jobs = fuzz.jobs](engine::JobId job, int turn) {
    const auto& turns = jobs[engine::index(job)].turns;
    const auto next = static_cast<std::size_t>(turn) + 1;
    return next < turns.size() ? milliseconds(10 * (1 + turns[next].gap_steps)) : engine::Nanos{-1};
  };
}

/// What some orders need.
void set_orders(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 49979687);
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.block_size = fuzz.config.kv.block_size;
  policy.parameters["prefix_window"] = static_cast<double>(dice.between(1, 5));
  policy.parameters["prefix_age_s"] = dice.any({0.0, 0.05, 1000.0});
  policy.parameters["remaining_work"] = std::string(dice.any({"history", "oracle"}));
  policy.true_work = [jobs = fuzz.jobs](engine::JobId job, int turn) {
    const auto& turns = jobs[engine::index(job)].turns;
    return policies::Work{0, static_cast<double>(turns.size()) - turn};
  };
}

}  // namespace

FuzzCase make_fuzz_case(std::uint64_t seed, std::initializer_list<const char*> orders,
                        Retained retained) {
  Dice dice(seed);
  FuzzCase fuzz;
  fuzz.jobs = random_jobs(dice);
  fuzz.config = random_config(dice, longest_sequence(fuzz.jobs));
  fuzz.config.policy.order = dice.any(orders);
  fuzz.config.policy.parameters["victim"] = std::string(dice.any({"last_unpinned", "latest_job"}));
  if (retained == Retained::pins) add_pins(dice, fuzz.config.policy);
  set_orders(fuzz, seed);
  fuzz.config.kv.partial_blocks_first = dice.one_in(3);
  return fuzz;
}

void add_version(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 49979687);
  engine::SchedulerConfig& s = fuzz.config.scheduler;
  s.version = engine::Version::v0_33;
  fuzz.config.kv.partial_blocks_first = true;
  s.adaptive_prefill_threshold = dice.one_in(2);
  s.watermark_blocks = dice.any({0, 0, 1, dice.between(0, fuzz.config.kv.num_blocks - 1)});
}

void add_tier(FuzzCase& fuzz, std::uint64_t seed) {
  using engine::TierKind;
  Dice dice(seed * 7919);
  engine::TierConfig& tier = fuzz.config.tier;
  tier.kind = dice.any({TierKind::offload, TierKind::offload, TierKind::lmcache, TierKind::swap});
  const int pool = fuzz.config.kv.num_blocks - 1;
  tier.chunk_tokens = fuzz.config.kv.block_size * dice.any({1, 2, 3});
  const int least = tier.chunk_tokens / fuzz.config.kv.block_size;
  tier.host_blocks = least + dice.any({0, 1, dice.between(0, pool), 2 * pool, 20 * pool});
  tier.store_mode = dice.any({engine::StoreMode::prompt, engine::StoreMode::all,
                              engine::StoreMode::lazy, engine::StoreMode::second_turn});
  tier.as_v0_26 = dice.one_in(2);
  if (tier.kind == TierKind::offload) fuzz.config.kv.prefix_caching = true;
  tier.tail_store = dice.one_in(2);
  tier.swap_partially = dice.one_in(2);
  tier.save_decode = dice.one_in(2);
  tier.transfers.quantum_blocks = dice.any({1, 2, 32});
  // Equal requests would evict each other forever under "priority".
  if (dice.one_in(4) && fuzz.config.policy.order != "priority")
    fuzz.config.scheduler.batching = engine::Batching::prefill_first;
  tier.transfers.max_ahead = dice.any({0, 1, 3});
}

void add_preemption(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 15485863);
  engine::TierConfig& tier = fuzz.config.tier;
  if (dice.one_in(4)) return;
  tier.kind = engine::TierKind::swap;
  const int pool = fuzz.config.kv.num_blocks - 1;
  tier.host_blocks = 1 + dice.any({0, 1, dice.between(0, pool), 20 * pool});
  tier.transfers.quantum_blocks = dice.any({1, 2, 32});
  fuzz.config.scheduler.preempt_by_block = dice.one_in(2);
  tier.swap_if_cheaper = dice.one_in(3);
  tier.swap_partially = dice.one_in(3);
}

void add_gaps(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 86028121);
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.retention = "infercept";
  policy.estimator.name = "oracle";
  policy.estimator.truth = gaps_of(fuzz);
  policy.reload = {0, dice.any({1e-4, 1e-2}), 0};
  policy.swap_s_per_tok = dice.any({1e-6, 1e-3});
}

void make_async(FuzzCase& fuzz) {
  fuzz.config.async = true;
  fuzz.config.tier.as_v0_26 =
      false;  // without prefix caching requests may preempt each other for ever
  engine::SchedulerConfig& s = fuzz.config.scheduler;
  if (s.version == engine::Version::v0_26) s.version = engine::Version::v0_33;
  s.batching = engine::Batching::v1;
}

void add_connector(FuzzCase& fuzz, std::uint64_t seed) {
  add_version(fuzz, seed);
  add_tier(fuzz, seed);
  Dice dice(seed * 15485867);
  fuzz.config.kv.prefix_caching = true;
  fuzz.config.scheduler.batching = engine::Batching::v1;
  engine::TierConfig& tier = fuzz.config.tier;
  tier.kind = engine::TierKind::offload;
  tier.arc = dice.one_in(2);
  if (!tier.as_v0_26) return;
  fuzz.config.scheduler.version = engine::Version::v0_26;
  fuzz.config.scheduler.watermark_blocks = 0;
}

void add_disk(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 67867967);
  const int pool = fuzz.config.kv.num_blocks - 1;
  fuzz.config.tier.disk_blocks = 1 + dice.any({0, 1, dice.between(0, pool), 20 * pool});
}

void add_host_eviction(FuzzCase& fuzz, const std::string& rule, std::uint64_t seed) {
  add_tier(fuzz, seed);
  Dice dice(seed * 86028121);
  engine::TierConfig& tier = fuzz.config.tier;
  if (tier.kind == engine::TierKind::swap) tier.kind = engine::TierKind::offload;
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.host_eviction = rule;
  tier.arc = rule == "arc";
  policy.estimator.name = dice.any({"tool_mean", "tool_cdf", "lognormal"});
  policy.estimator.truth = gaps_of(fuzz);
}

void add_prefetch(FuzzCase& fuzz, std::uint64_t seed) {
  add_tier(fuzz, seed);
  Dice dice(seed * 104729);
  fuzz.config.tier.kind = engine::TierKind::offload;
  fuzz.config.tier.store_mode = engine::StoreMode::all;
  fuzz.config.tier.transfers.block_load_time = milliseconds(dice.any({0, 1, 10}));
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.prefetch =
      dice.any({"oracle", "oracle", "client_hint", "tool_mean", "tool_cdf", "lognormal"});
  policy.scoring = dice.any({"S1", "S2", "S3", "S4", "S5"});
  policy.reload = {0, 1e-4, 0};
  policies::EstimatorConfig& estimator = policy.estimator;
  estimator.parameters["estimator_calls"] = static_cast<double>(dice.between(0, 3));
  estimator.error.bias = dice.any({1.0, 0.1, 10.0});
  estimator.error.sigma = dice.any({0.0, 0.5, 2.0});
  estimator.truth = gaps_of(fuzz);
  estimator.hints = estimator.truth;
}

void add_eviction(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 15485863);
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.eviction = dice.any({"next_use", "oracle"});
  policy.estimator.name = dice.any({"tool_mean", "tool_cdf", "lognormal"});
  policy.estimator.truth = gaps_of(fuzz);
  fuzz.config.tier.store_mode = engine::StoreMode::all;
}

void add_eviction_rule(FuzzCase& fuzz, const std::string& rule, std::uint64_t seed) {
  Dice dice(seed * 32452843);
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.eviction = rule;
  policy.eviction_rule.parameters["protected_fraction"] = dice.any({0.0, 0.3, 0.8, 1.0});
  policy.eviction_rule.parameters["slru_counts"] = std::string(dice.one_in(2) ? "job" : "turn");
  policy.eviction_rule.parameters["spare_tokens"] = dice.any({0.0, 4.0, 16.0, 1000.0});
  policy.eviction_rule.parameters["retained"] = std::string(
      dice.any({"", "0-4:100", "4-:80:0.05", "0-8:90:0.02, 8-16:10, generated:20:0.1"}));
  policy.reload = {0, 1e-4, dice.any({0.0, 1e-5})};
  fuzz.config.tier.store_mode = engine::StoreMode::all;
}

void add_admission(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 32452843);
  const int pool = (fuzz.config.kv.num_blocks - 1) * fuzz.config.kv.block_size;
  policies::AdmissionConfig& admission = fuzz.config.policy.admission;
  admission.rule = dice.any({"max_programs", "working_set", "thunder", "quota"});
  admission.max_programs = dice.between(1, 4);
  admission.pool_tokens = dice.any({1, pool / 2 + 1, pool, 4 * pool});
  admission.parameters["pool_share"] = dice.any({0.1, 0.9, 2.0});
  admission.parameters["horizon"] = std::string(dice.any({"one_turn", "mean_end", "hint"}));
  admission.parameters["admission_period_s"] = dice.any({0.0, 0.01, 0.2});
  admission.parameters["first_turns_share"] = dice.any({0.0, 0.3, 1.0});
  admission.last_context = [jobs = fuzz.jobs](engine::JobId job) {
    return static_cast<int>(jobs[engine::index(job)].turns.size()) * 12;
  };
  // A fixed number of programs waits for the announced end of each.
  if (admission.rule == "max_programs")
    for (FuzzJob& job : fuzz.jobs) job.turns.back().says_last = true;
}

void add_plugin(FuzzCase& fuzz, std::uint64_t seed) {
  Dice dice(seed * 67867967);
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.plugin = {.path = KVSWEEP_TEST_PLUGINS "/arbitrary.so",
                   .num_blocks = fuzz.config.kv.num_blocks - 1,
                   .block_size = fuzz.config.kv.block_size};
  const auto decide = [&](std::string& axis) {
    if (dice.one_in(2)) axis = "plugin";
  };
  decide(policy.order);
  decide(policy.admission.rule);
  decide(policy.retention);
  if (policy.eviction == "lru" && policy.prefetch == "none") decide(policy.eviction);
  if (policy.eviction == "plugin") fuzz.config.tier.store_mode = engine::StoreMode::all;
}

std::string describe(const FuzzCase& fuzz) {
  const auto& [kv, s, policy, tier, async] = fuzz.config;
  std::string text = policy.order + ", " + policy.retention;
  const auto add = [&](const char* name, auto value) {
    text += std::string(", ") + name + ' ' + std::to_string(value);
  };
  add("blocks", kv.num_blocks);
  add("block size", kv.block_size);
  add("caching", kv.prefix_caching);
  add("budget", s.max_num_batched_tokens);
  add("seqs", s.max_num_seqs);
  add("max length", s.max_model_len);
  add("threshold", s.long_prefill_token_threshold);
  add("chunked", s.chunked_prefill);
  add("reserve", s.reserve_full_sequence);
  add("version", static_cast<int>(s.version));
  add("watermark", s.watermark_blocks);
  add("jobs", fuzz.jobs.size());
  add("tier", static_cast<int>(tier.kind));
  add("partial blocks first", kv.partial_blocks_first);
  text += ", eviction " + policy.eviction + ", admission " + policy.admission.rule;
  text += ", host eviction " + policy.host_eviction;
  if (async) text += ", asynchronous";
  text += ", prefetch " + policy.prefetch + " " + policy.scoring;
  return text;
}

}  // namespace support
