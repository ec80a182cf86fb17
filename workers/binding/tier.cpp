#include <limits>

#include "workers/binding/parts.hpp"

namespace worker {
namespace {

using engine::TierKind;

TierKind kind_of(ParamBinder& in) {
  const std::string tier = in.text("policy.tier");
  const std::string preemption = in.text("policy.preemption");
  if (preemption != "recompute" && tier != "none")
    in.fail("policy.preemption",
            "swaps into host memory of its own and cannot go with tier \"" + tier + "\"");
  if (preemption != "recompute") return TierKind::swap;
  return tier == "offload"   ? TierKind::offload
         : tier == "lmcache" ? TierKind::lmcache
                             : TierKind::none;
}

/// How a sweep changes the cost of the tier: copies, and the connector's time.
void bind_scale(ParamBinder& in) {
  ExperimentConfig& config = in.config;
  const double factor = in.number("sim.tier_scale");
  if (config.backend != "sim" || factor == 1) return;
  config.gpu = backends::scaled(config.gpu, {.link = factor});
  config.link.block_us *= factor;
  engine::TierConfig& tier = config.engine.tier;
  for (engine::Nanos* each : {&tier.schedule_overhead, &tier.save_overhead})
    *each = engine::from_seconds(engine::to_seconds(*each) * factor);
}

std::int64_t blocks_of_tokens(ParamBinder& in, int block_size) {
  if (in.has("dram_gib"))
    in.fail("engine.host_kv_tokens", "sets the host tier's size, and so does dram_gib");
  return in.integer("engine.host_kv_tokens") / block_size;
}

/// Host memory of the tier in blocks: by bytes, or by the tokens that it holds.
std::int64_t bind_size(ParamBinder& in, const std::string& policy, int block_size,
                       std::int64_t bytes_per_block) {
  if (in.has("engine.host_kv_tokens")) return blocks_of_tokens(in, block_size);
  in.require("dram_gib",
             ": policy \"" + policy + "\" keeps KV in host memory, whose size must be given");
  const double bytes = in.number("dram_gib") * 0x1p30;
  const double blocks = bytes / static_cast<double>(bytes_per_block);
  if (blocks > std::numeric_limits<int>::max())
    in.fail("dram_gib", "must hold fewer than 2^31 blocks");
  return static_cast<std::int64_t>(blocks);
}

}  // namespace

void bind_tier(ParamBinder& in) {
  ExperimentConfig& config = in.config;
  engine::TierConfig& tier = config.engine.tier;
  const int block_size = config.engine.kv.block_size;
  tier.kind = kind_of(in);
  const std::string preemption = in.text("policy.preemption");
  config.engine.scheduler.preempt_by_block = preemption == "partial";
  tier.swap_if_cheaper = preemption == "adaptive";
  tier.as_v0_26 = in.text("sim.server") != "none" && in.text("engine.scheduler") != "vllm-0.33";
  if (tier.kind == TierKind::lmcache && tier.chunk_tokens % block_size != 0)
    in.fail("policy.chunk_tokens",
            "must be a multiple of engine.block_size (" + std::to_string(block_size) + ")");
  bind_scale(in);
  if (tier.kind != TierKind::none) {
    tier.host_blocks = bind_size(in, config.policy_name, block_size, bytes_per_block(config));
  } else {
    in.number("dram_gib");
    in.integer("engine.host_kv_tokens");
  }
}

}  // namespace worker
