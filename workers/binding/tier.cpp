#include <limits>

#include "workers/binding/parts.hpp"

namespace worker {
namespace {

using engine::TierKind;

constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

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

void bind_offload(ParamBinder& in, engine::TierConfig& tier) {
  const std::string store = in.text("policy.store");
  tier.store_mode = store == "prompt"        ? engine::StoreMode::prompt
                    : store == "second_turn" ? engine::StoreMode::second_turn
                    : store == "lazy"        ? engine::StoreMode::lazy
                                             : engine::StoreMode::all;
  tier.tail_store = in.boolean("policy.tail_store");
  tier.by_touches = in.text("sim.server") != "none" && in.text("engine.scheduler") != "vllm-0.33";
  const engine::Nanos cost = engine::from_seconds(in.number("policy.connector_cost_s"));
  if (tier.kind == TierKind::offload) tier.schedule_overhead = cost;
}

/// The connector's costs are those of kv-cache connectors under vLLM: a look-up in every step, and
/// more in steps that save. They pass on the virtual clock alone.
void bind_lmcache(ParamBinder& in, engine::TierConfig& tier, int block_size) {
  tier.chunk_tokens = in.small("policy.chunk_tokens");
  tier.save_decode = in.boolean("policy.save_decode");
  const engine::Nanos look_up = engine::from_seconds(in.number("policy.schedule_cost_s"));
  if (tier.kind == TierKind::lmcache) tier.schedule_overhead = look_up;
  tier.save_overhead = engine::from_seconds(in.number("policy.save_cost_s"));
  if (tier.kind == TierKind::lmcache && tier.chunk_tokens % block_size != 0)
    in.fail("policy.chunk_tokens",
            "must be a multiple of engine.block_size (" + std::to_string(block_size) + ")");
}

HostLink bind_link(ParamBinder& in) {
  HostLink link;
  link.memory = in.text("policy.host_memory") == "pageable" ? backends::LinkMemory::pageable
                                                            : backends::LinkMemory::pinned;
  link.infinite = in.text("sim.link") == "infinite";
  link.duplex = in.boolean("policy.duplex");
  link.block_us = in.number("sim.block_copy_us");
  return link;
}

/// How a sweep changes the cost of the tier: copies, and the connector's time.
void bind_scale(ParamBinder& in, ExperimentConfig& config, HostLink& link) {
  const double factor = in.number("sim.tier_scale");
  if (config.backend != "sim" || factor == 1) return;
  config.gpu = backends::scaled(config.gpu, {.link = factor});
  link.block_us *= factor;
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
  const double bytes = in.number("dram_gib") * kBytesPerGib;
  const double blocks = bytes / static_cast<double>(bytes_per_block);
  if (blocks > std::numeric_limits<int>::max())
    in.fail("dram_gib", "must hold fewer than 2^31 blocks");
  return static_cast<std::int64_t>(blocks);
}

}  // namespace

HostLink bind_tier(ParamBinder& in, ExperimentConfig& config) {
  engine::EngineConfig& engine = config.engine;
  engine::TierConfig& tier = engine.tier;
  const int block_size = engine.kv.block_size;
  tier.kind = kind_of(in);
  const std::string preemption = in.text("policy.preemption");
  engine.scheduler.preempt_by_block = preemption == "partial";
  tier.swap_if_cheaper = preemption == "adaptive";
  tier.swap_partially = in.boolean("policy.swap_partially");
  bind_offload(in, tier);
  bind_lmcache(in, tier, block_size);
  HostLink link = bind_link(in);
  bind_scale(in, config, link);
  if (tier.kind != TierKind::none) {
    tier.host_blocks = bind_size(in, config.policy_name, block_size, bytes_per_block(config));
  } else {
    in.number("dram_gib");
    in.integer("engine.host_kv_tokens");
  }
  return link;
}

}  // namespace worker
