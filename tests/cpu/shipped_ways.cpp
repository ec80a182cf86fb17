#include "tests/cpu/shipped_ways.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "tests/cell/cell.hpp"
#include "tests/cpu/random_serving.hpp"
#include "workers/backends/errors.hpp"

namespace cpu_test {
namespace {

using engine::KvEventKind;
using engine::KvReason;
using engine::StoreMode;
using engine::TierKind;
using support::Dice;

const std::vector<const char*> kPreemptions = {"as shipped", "recompute", "swap", "partial",
                                               "adaptive"};
const std::vector<const char*> kSchedulers = {"v1", "vllm-0.33", "prefill_first", "mixed",
                                              "chunked"};
const std::vector<const char*> kStores = {"eager", "lazy", "second_turn"};
/// All names but "plugin", which decides nothing by itself.
std::vector<std::string> shipped(std::vector<std::string> names) {
  std::erase(names, "plugin");
  return names;
}
const std::vector<std::string> kEvictions = shipped(policies::eviction_names());
const std::vector<std::string> kHostEvictions = shipped(policies::host_eviction_names());

template <class T>
const T& any_of(Dice& dice, const std::vector<T>& values) {
  return values[static_cast<std::size_t>(dice.between(0, static_cast<int>(values.size()) - 1))];
}

void set_policy(support::Cell& cell, const Way& way, int block, int pool, Dice& dice) {
  cell.set("policy", way.policy);
  if (way.preemption != "as shipped") cell.set("policy.preemption", way.preemption);
  const bool newest = way.scheduler == "vllm-0.33";
  if (way.store == "lazy" && !newest) cell.set("policy.store", "lazy");
  if (way.store == "lazy" && newest && way.policy.ends_with("offload"))
    cell.set("policy.store", "all");
  cell.set("policy.host_memory", dice.any({"pinned", "pageable"}));
  cell.set("policy.chunk_tokens", block * dice.any({1, 2}));
  cell.set("policy.swap_partially", dice.one_in(2));
  cell.set("engine.host_kv_tokens", block * dice.any({2, pool, 5 * pool}));
}

void set_engine(support::Cell& cell, const Way& way, int block, int pool, Dice& dice) {
  cell.set("engine.scheduler", way.scheduler);
  cell.set("engine.block_size", block).set("engine.kv_tokens", block * pool);
  cell.set("engine.max_model_len", kMaxModelLen);
  const bool v1 = way.scheduler.starts_with("v") && way.policy != "contiguous";
  const bool whole_prompts = !v1;
  cell.set("engine.max_num_batched_tokens", whole_prompts ? 256 : dice.any({8, 33, 256}));
  cell.set("engine.max_num_seqs", dice.between(2, 6));
  if (way.scheduler == "chunked") cell.set("engine.chunk_tokens", dice.any({16, 50}));
  if (!v1) return;
  cell.set("engine.reserve_full_sequence", dice.one_in(2));
  cell.set("engine.async_scheduling", dice.one_in(2));
}

support::Cell cell_of(const Way& way, const Target& target, Dice& dice) {
  const int block = any_of(dice, target.block_sizes);
  const int blocks_of_one = (kMaxModelLen + block - 1) / block;
  const int pool = blocks_of_one + dice.between(0, blocks_of_one / 4);
  support::Cell cell;
  cell.without("jps").set("workload.kind", "fixed").set("workload.prompt", 8);
  set_policy(cell, way, block, pool, dice);
  set_engine(cell, way, block, pool, dice);
  cell.set("policy.eviction", way.eviction).set("policy.host_eviction", way.host_eviction);
  return cell;
}

/// Whether a way's settings contradict each other, judged by the error message.
bool contradicts(const std::string& refusal) {
  const auto says = [&](const char* words) { return refusal.find(words) != std::string::npos; };
  return says("swaps into host memory of its own and cannot go with tier") ||
         says("must be \"v1\" with policy.layout \"contiguous\"") ||
         says("must be \"lru\" with policy.prefetch") ||
         says("must be \"lru\" or \"partial_first\" with policy.store") ||
         says("needs policy.tier \"offload\" and policy.store \"eager\"") ||
         says("since the tier of vLLM 0.33 loads on demand alone");
}

/// Empty when the way's settings contradict each other.
std::optional<worker::ExperimentConfig> config_of(const Way& way, const Target& target,
                                                  Dice& dice) {
  static worker::Profiles profiles(support::kProfiles);
  try {
    return worker::bind(cell_of(way, target, dice).params(), target.backend, 42, profiles).config;
  } catch (const sweep::SpecError& error) {
    if (!contradicts(error.what())) throw std::logic_error(error.what() + (" with " + way.text()));
    return std::nullopt;
  }
}

Way random_way(const std::string& policy, Dice& dice) {
  return {policy,
          any_of(dice, kPreemptions),
          any_of(dice, kSchedulers),
          any_of(dice, kStores),
          any_of(dice, kEvictions),
          any_of(dice, kHostEvictions)};
}

void play(Bench& bench, const Serving& serving, Outcomes& outcomes) {
  try {
    bench.serve(serving);
    ++outcomes.harmless;
  } catch (const backends::CorruptBlock&) {
    ++outcomes.noticed;
  } catch (const backends::NotFinite&) {
    ++outcomes.noticed;
  } catch (const std::logic_error&) {
    ++outcomes.wrong;
  }
}

}  // namespace

std::vector<std::string> shipped_policies() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(support::kProfiles / "policies"))
    names.push_back(file.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const std::string& policy : shipped_policies())
    for (const char* preemption : kPreemptions)
      for (const char* scheduler : kSchedulers)
        for (const char* store : kStores) ways.push_back({policy, preemption, scheduler, store});
  return ways;
}

std::vector<Way> ways_of_tiers() {
  return {{.policy = "cpu_offload"},
          {.policy = "cpu_offload", .scheduler = "vllm-0.33"},
          {.policy = "cpu_offload", .store = "lazy"},
          {.policy = "cpu_offload", .host_eviction = "next_use"},
          {.policy = "lmcache"},
          {.policy = "swap"},
          {.policy = "predictive_prefetch"}};
}

std::vector<Way> ways_of_evictions() {
  std::vector<Way> ways;
  for (const std::string& rule : kEvictions)
    ways.push_back({.policy = "cpu_offload", .eviction = rule});
  for (const std::string& rule : kHostEvictions)
    ways.push_back({.policy = "cpu_offload", .host_eviction = rule});
  return ways;
}

std::optional<Serving> serving_of(const Way& way, const Target& target, Dice& dice) {
  const auto config = config_of(way, target, dice);
  if (!config) return std::nullopt;
  Serving serving;
  serving.engine = config->engine;
  serving.engine.tier.transfers.quantum_blocks = dice.any({1, 2, 32});
  serving.policy = config->policy;
  serving.policy.reload = {0, 1e-3, 0};
  serving.policy.admission.pool_tokens =
      (serving.engine.kv.num_blocks - 1) * serving.engine.kv.block_size;
  serving.policy.estimator.truth = [](engine::JobId job, int) { return gap_of(job); };
  serving.checks = backends::Checks::debug;
  serving.pinned_host = config->host_memory == backends::LinkMemory::pinned;
  return serving;
}

std::string kind_of(const Serving& serving) {
  const engine::TierConfig& tier = serving.engine.tier;
  const engine::SchedulerConfig& scheduler = serving.engine.scheduler;
  if (scheduler.batching == engine::Batching::fixed) return "contiguous";
  if (serving.policy.prefetch != "none") return "prefetch";
  if (tier.kind == TierKind::none) return "no tier";
  if (tier.kind == TierKind::lmcache) return "lmcache";
  if (tier.kind == TierKind::offload)
    return tier.store_mode == StoreMode::lazy ? "offload lazy" : "offload";
  if (tier.swap_if_cheaper) return "adaptive";
  if (scheduler.preempt_by_block) return "partial";
  return serving.pinned_host ? "swap pinned" : "swap pageable";
}

void Moved::add(const Served& served) {
  ++ways;
  preempted += served.preemptions;
  for (const auto& [event, blocks] : served.copied) {
    const auto& [kind, reason] = event;
    out += kind == KvEventKind::store || kind == KvEventKind::swap_out ? blocks : 0;
    in += kind == KvEventKind::load || kind == KvEventKind::swap_in ? blocks : 0;
    const bool prefetched = kind == KvEventKind::prefetch &&
                            (reason == KvReason::deadline || reason == KvReason::predicted);
    ahead += prefetched ? blocks : 0;
  }
}

Moved& Moved::operator+=(const Moved& other) {
  ways += other.ways;
  preempted += other.preempted;
  out += other.out;
  in += other.in;
  ahead += other.ahead;
  return *this;
}

std::string describe(const std::string& kind, const Moved& moved) {
  std::ostringstream text;
  text << kind << ": " << moved.ways << " ways, " << moved.preempted << " preempted, " << moved.out
       << " blocks out, " << moved.in << " in, " << moved.ahead << " ahead";
  return text.str();
}

bool Tour::serve(const Way& way) {
  const auto serving = serving_of(way, target_, dice_);
  if (!serving) return false;
  if (served_++ % 2 == 0) bench_.renew_jobs(random_jobs(dice_, bench_.vocab(), kMaxModelLen));
  try {
    moved_[kind_of(*serving)].add(bench_.serve(*serving));
  } catch (const std::exception& error) {
    throw std::logic_error(error.what() + (" with " + way.text()));
  }
  return true;
}

/// Prefetches only load blocks that were evicted in time, which takes more tries.
void Tour::serve_some(const std::string& policy, int others) {
  const int tries = policy == "predictive_prefetch" ? 4 : 1;
  for (int left = tries; left > 0; --left)
    for (const char* store : kStores) serve({.policy = policy, .store = store});
  for (int left = others; left > 0;) left -= serve(random_way(policy, dice_));
}

std::map<std::string, std::int64_t> serve_with_plugin(Bench& bench, const Target& target,
                                                      const std::string& object, int seeds) {
  using policies::PolicyConfig;
  const struct {
    const char* name;
    const char* policy;
    std::string& (*choice)(PolicyConfig&);
  } axes[] = {
      {"order", "fcfs", [](PolicyConfig& p) -> std::string& { return p.order; }},
      {"admission", "fcfs", [](PolicyConfig& p) -> std::string& { return p.admission.rule; }},
      {"retention", "swap", [](PolicyConfig& p) -> std::string& { return p.retention; }},
      {"eviction", "fcfs", [](PolicyConfig& p) -> std::string& { return p.eviction; }}};
  std::map<std::string, std::int64_t> calls;
  for (const auto& axis : axes) {
    policies::PluginUse use;
    for (int seed = 1; seed <= seeds; ++seed) {
      Dice dice(static_cast<std::uint64_t>(seed));
      bench.renew_jobs(random_jobs(dice, bench.vocab(), kMaxModelLen));
      Serving serving = serving_of({.policy = axis.policy}, target, dice).value();
      axis.choice(serving.policy) = "plugin";
      serving.policy.plugin = {.path = object,
                               .num_blocks = serving.engine.kv.num_blocks - 1,
                               .block_size = serving.engine.kv.block_size,
                               .use = &use};
      bench.serve(serving);
    }
    calls[axis.name] = use.calls;
  }
  return calls;
}

Outcomes serve_with_faults(Bench& bench, const Way& way, const Target& target,
                           backends::CopyFault fault, backends::Checks checks) {
  constexpr std::uint64_t kMost = 60;
  Outcomes outcomes;
  for (std::uint64_t seed = 1; seed <= kMost && outcomes.noticed + outcomes.wrong < 4; ++seed) {
    Dice dice(seed);
    bench.renew_jobs(random_jobs(dice, bench.vocab(), kMaxModelLen));
    Serving serving = serving_of(way, target, dice).value();
    serving.checks = checks;
    serving.copy_fault = [=](engine::CopyId id) {
      const bool chosen = (static_cast<std::uint64_t>(id) + seed) % 2 == 0;
      return chosen ? fault : backends::CopyFault::none;
    };
    play(bench, serving, outcomes);
  }
  std::cout << way.text() << ": " << outcomes.harmless << " harmless, " << outcomes.noticed
            << " noticed, " << outcomes.wrong << " wrong\n";
  return outcomes;
}

}  // namespace cpu_test
