// Every policy that sweeps may name, with every way to give way and every scheduler, computes the
// same on a real model: KV is really copied to host memory and back, under checksums.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "tests/cpu/random_serving.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/experiment/cell.hpp"

using namespace cpu_test;
using engine::KvEventKind;
using engine::KvReason;
using support::Dice;

namespace {

/// A shipped policy, and what it leaves open.
struct Way {
  std::string policy, preemption, scheduler, store;
  std::string text() const {
    return policy + ", preemption " + preemption + ", " + scheduler + ", " + store;
  }
};

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
    for (const char* preemption : {"as shipped", "recompute", "swap", "partial", "adaptive"})
      for (const char* scheduler : {"v1", "prefill_first", "mixed", "chunked"})
        for (const char* store : {"eager", "lazy"})
          ways.push_back({policy, preemption, scheduler, store});
  return ways;
}

/// A cell on the host's processor with few blocks on either side; of a policy's own keys only the
/// preemption may differ from what is shipped.
support::Cell cell_of(const Way& way, Dice& dice) {
  const int block = dice.any({2, 4, 8, 16});
  const int blocks_of_one = (kMaxModelLen + block - 1) / block;
  const int pool = blocks_of_one + dice.between(0, blocks_of_one / 4);
  support::Cell cell;
  cell.without("jps").set("workload.kind", "fixed").set("workload.prompt", 8);
  cell.set("policy", way.policy);
  if (way.preemption != "as shipped") cell.set("policy.preemption", way.preemption);
  if (way.store == "lazy") cell.set("policy.store", "lazy");
  cell.set("policy.host_memory", dice.any({"pinned", "pageable"}));
  cell.set("policy.chunk_tokens", block * dice.any({1, 2}));
  cell.set("policy.swap_partially", dice.one_in(2));
  cell.set("engine.host_kv_tokens", block * dice.any({2, pool, 5 * pool}));
  cell.set("engine.scheduler", way.scheduler);
  cell.set("engine.block_size", block).set("engine.kv_tokens", block * pool);
  cell.set("engine.max_model_len", kMaxModelLen);
  const bool whole_prompts = way.scheduler != "v1" || way.policy == "contiguous";
  cell.set("engine.max_num_batched_tokens", whole_prompts ? 256 : dice.any({8, 33, 256}));
  cell.set("engine.max_num_seqs", dice.between(2, 6));
  if (way.scheduler == "chunked") cell.set("engine.chunk_tokens", dice.any({16, 50}));
  if (way.scheduler == "v1" && way.policy != "contiguous")
    cell.set("engine.reserve_full_sequence", dice.one_in(2));
  return cell;
}

Serving serving_of(const worker::ExperimentConfig& config, Dice& dice) {
  Serving serving;
  serving.engine = config.engine;
  serving.engine.tier.transfers.quantum_blocks = dice.any({1, 2, 32});
  serving.policy = config.policy;
  serving.policy.reload = {0, 1e-3, 0};
  serving.policy.estimator.truth = [](engine::JobId job, int) { return gap_of(job); };
  serving.checks = backends::Checks::debug;
  return serving;
}

/// Whether what a way asks for contradicts itself, by the words with which it is refused.
bool contradicts(const std::string& refusal) {
  const auto says = [&](const char* words) { return refusal.find(words) != std::string::npos; };
  return says("swaps into host memory of its own and cannot go with tier") ||
         says("must be \"v1\" with policy.layout \"contiguous\"") ||
         says("needs policy.tier \"offload\" and policy.store \"eager\"");
}

/// Nothing where the way contradicts itself.
std::optional<worker::ExperimentConfig> config_of(const Way& way, Dice& dice) {
  static worker::Profiles profiles(support::kProfiles);
  try {
    return worker::bind(cell_of(way, dice).params(), "cpu", 42, profiles).config;
  } catch (const sweep::SpecError& error) {
    if (!contradicts(error.what())) throw std::logic_error(error.what() + (" with " + way.text()));
    return std::nullopt;
  }
}

struct Moved {
  int ways = 0, out = 0, in = 0, ahead = 0, preempted = 0;
};

const char* kind_of(const worker::ExperimentConfig& config) {
  const engine::TierConfig& tier = config.engine.tier;
  if (config.engine.scheduler.step_order == engine::StepOrder::fixed_batch) return "contiguous";
  if (config.policy.prefetch != "none") return "prefetch";
  if (tier.kind == engine::TierKind::none) return "no tier";
  if (tier.kind == engine::TierKind::lmcache) return "lmcache";
  if (tier.kind == engine::TierKind::offload)
    return tier.store_mode == engine::StoreMode::lazy ? "offload lazy" : "offload eager";
  if (tier.swap_if_cheaper) return "adaptive";
  if (config.engine.scheduler.preempt_by_block) return "partial";
  return config.link.memory == backends::LinkMemory::pageable ? "swap pageable" : "swap pinned";
}

void count(Moved& moved, const Served& served) {
  ++moved.ways;
  moved.preempted += served.preemptions;
  for (const auto& [event, blocks] : served.copied) {
    const auto& [kind, reason] = event;
    moved.out += kind == KvEventKind::store || kind == KvEventKind::swap_out ? blocks : 0;
    moved.in += kind == KvEventKind::load || kind == KvEventKind::swap_in ? blocks : 0;
    const bool ahead = kind == KvEventKind::prefetch &&
                       (reason == KvReason::deadline || reason == KvReason::predicted);
    moved.ahead += ahead ? blocks : 0;
  }
}

/// Serves random jobs in one way after the other, and holds what comes out against serving them one
/// by one in a single pass each.
class Comparison {
 public:
  explicit Comparison(std::uint64_t seed) : dice_(seed) {}

  void try_way(const Way& way) {
    for (int left = times(way); left > 0; --left) {
      const auto config = config_of(way, dice_);
      if (!config) return;
      const bool lazy = config->engine.tier.store_mode == engine::StoreMode::lazy;
      if (lazy && config->engine.tier.kind != engine::TierKind::offload) return;  // nothing new
      if (served_++ % 2 == 0) renew_jobs();
      const Served served = cpu_test::serve(weights_, jobs_, serving_of(*config, dice_));
      const std::string found = difference(served, plain_);
      if (!found.empty()) throw std::logic_error(found + " with " + way.text());
      count(moved[kind_of(*config)], served);
    }
  }

  std::map<std::string, Moved> moved;  // by kind of tier

 private:
  /// Of the schedulers only one has a prefix cache, and with it most ways to keep KV; what is
  /// fetched ahead is only what was lost in time.
  static int times(const Way& way) {
    if (way.scheduler != "v1") return 1;
    return way.policy == "predictive_prefetch" ? 20 : 3;
  }
  void renew_jobs() {
    jobs_ = random_jobs(dice_, weights_.shape().vocab, kMaxModelLen);
    plain_ = cpu_test::serve(weights_, jobs_, plain_serving(kMaxModelLen, model::DType::f32));
  }

  Dice dice_;
  backends::CpuWeights weights_ = random_model(small_model(model::Architecture::llama));
  std::vector<Job> jobs_;
  Served plain_;
  int served_ = 0;
};

}  // namespace

TEST_CASE(
    "tokens and logits have the same bits under every shipped policy and every way to give way",
    "[tier][policies]") {
  std::map<std::string, Moved> all;
  support::for_each_seed(1, [&](std::uint64_t seed) {
    Comparison comparison(seed);
    for (const Way& way : all_ways()) comparison.try_way(way);
    all = comparison.moved;
  });
  CHECK(all.size() == 10);
  for (const auto& [kind, moved] : all) {
    std::cout << kind << ": " << moved.ways << " ways, " << moved.preempted << " preempted, "
              << moved.out << " blocks out, " << moved.in << " in, " << moved.ahead << " ahead\n";
    const bool copies = kind != "no tier" && kind != "contiguous";
    INFO(kind);
    CHECK((moved.out > 0) == copies);
    CHECK((moved.in + moved.ahead > 0) == copies);
    CHECK((moved.ahead > 0) == (kind == "prefetch"));
  }
}
