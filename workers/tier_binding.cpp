#include <cmath>
#include <limits>

#include "workers/binding_parts.hpp"

namespace worker {
namespace {

using engine::TierKind;

constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

std::string preemption_of(ParamBinder& in) {
  return in.choice("policy.preemption", "recompute", {"recompute", "swap", "partial", "adaptive"});
}

TierKind kind_of(ParamBinder& in) {
  const std::string tier = in.choice("policy.tier", "none", {"none", "offload", "lmcache"});
  const std::string preemption = preemption_of(in);
  if (preemption == "recompute") in.forget({"policy.preemption"});
  if (preemption != "recompute" && tier != "none")
    in.fail("policy.preemption",
            "swaps into host memory of its own and cannot go with tier \"" + tier + "\"");
  if (preemption != "recompute") return TierKind::swap;
  return tier == "offload"   ? TierKind::offload
         : tier == "lmcache" ? TierKind::lmcache
                             : TierKind::none;
}

void bind_offload(ParamBinder& in, engine::TierConfig& tier) {
  const bool lazy = in.choice("policy.store", "eager", {"eager", "lazy"}) == "lazy";
  tier.store_mode = lazy ? engine::StoreMode::lazy : engine::StoreMode::eager;
  tier.tail_store = in.boolean("policy.tail_store", true);
  if (tier.kind != TierKind::offload) in.forget({"policy.store", "policy.tail_store"});
}

/// The connector's costs are those of kv-cache connectors under vLLM: a look-up in every step, and
/// more in steps that save. They pass on the virtual clock alone.
void bind_lmcache(ParamBinder& in, engine::TierConfig& tier, int block_size) {
  tier.chunk_tokens = in.small("policy.chunk_tokens", 256, 1, 1 << 20);
  tier.save_decode = in.boolean("policy.save_decode", false);
  tier.schedule_overhead = engine::from_seconds(in.number("policy.schedule_cost_s", 1e-3, 0, 10));
  tier.save_overhead = engine::from_seconds(in.number("policy.save_cost_s", 4e-3, 0, 10));
  if (tier.kind != TierKind::lmcache) {
    in.forget({"policy.chunk_tokens", "policy.save_decode", "policy.schedule_cost_s",
               "policy.save_cost_s"});
  } else if (tier.chunk_tokens % block_size != 0) {
    in.fail("policy.chunk_tokens",
            "must be a multiple of engine.block_size (" + std::to_string(block_size) + ")");
  }
}

/// Host memory of the tier in blocks: by bytes, or by the tokens that it holds.
std::int64_t bind_size(ParamBinder& in, int block_size, std::int64_t bytes_per_block) {
  if (in.has("engine.host_kv_tokens")) {
    if (in.has("dram_gib"))
      in.fail("engine.host_kv_tokens", "sets the host tier's size, and so does dram_gib");
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    return in.integer("engine.host_kv_tokens", 0, block_size, kMost) / block_size;
  }
  in.require("dram_gib");
  const double gib = in.number("dram_gib", 0, 0, 1e6);
  if (gib == std::floor(gib)) in.record("dram_gib", static_cast<std::int64_t>(gib));
  const auto blocks =
      static_cast<std::int64_t>(gib * kBytesPerGib / static_cast<double>(bytes_per_block));
  if (blocks < 1 || blocks > std::numeric_limits<int>::max())
    in.fail("dram_gib", "must hold between one block of " + std::to_string(bytes_per_block) +
                            " bytes and 2^31 of them");
  return blocks;
}

}  // namespace

HostLink bind_tier(ParamBinder& in, engine::EngineConfig& engine, std::int64_t bytes_per_block) {
  engine::TierConfig& tier = engine.tier;
  const int block_size = engine.kv.block_size;
  tier.kind = kind_of(in);
  engine.scheduler.preempt_by_block = preemption_of(in) == "partial";
  tier.swap_if_cheaper = preemption_of(in) == "adaptive";
  if (tier.kind != TierKind::swap) in.forget({"policy.preemption"});
  bind_offload(in, tier);
  bind_lmcache(in, tier, block_size);
  tier.swap_partially = in.boolean("policy.swap_partially", false);
  if (tier.kind != TierKind::swap) in.forget({"policy.swap_partially"});
  HostLink link;
  const bool pageable =
      in.choice("policy.host_memory", "pinned", {"pinned", "pageable"}) == "pageable";
  link.memory = pageable ? backends::LinkMemory::pageable : backends::LinkMemory::pinned;
  link.infinite = in.choice("sim.link", "card", {"card", "infinite"}) == "infinite";
  link.duplex = in.boolean("policy.duplex", true);
  if (link.duplex) in.forget({"policy.duplex"});
  link.block_us = in.number("sim.block_copy_us", 0, 0, 1e6);
  if (!link.infinite) in.forget({"sim.link"});
  if (link.block_us == 0) in.forget({"sim.block_copy_us"});
  if (tier.kind == TierKind::none) {
    in.ignore("dram_gib");
    in.integer("engine.host_kv_tokens", 0, 0, std::int64_t{1} << 40);
    in.forget({"engine.host_kv_tokens"});
    in.forget({"policy.host_memory", "policy.duplex", "sim.block_copy_us", "sim.link"});
    return link;
  }
  tier.host_blocks = bind_size(in, block_size, bytes_per_block);
  return link;
}

}  // namespace worker
