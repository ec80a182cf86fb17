#include "workers/binding/key_groups.hpp"
#include "workers/policies/factory.hpp"
#include "workers/policies/plugin/library.hpp"

namespace worker {
namespace {

/// Loads the plugin once, to refuse one that does not offer what the cell asks of it.
void bind_plugin(ParamBinder& in) {
  policies::PluginConfig& plugin = in.config.policy.plugin;
  plugin.block_size = in.config.policy.block_size;
  const std::vector<std::string> axes = policies::plugin_axes(in.config.policy);
  if (axes.empty()) return;
  plugin.path = in.file("policy.plugin");
  try {
    const policies::PluginLibrary library(plugin.path);
    for (const std::string& axis : axes) library.require(axis);
    if (const std::string imported = library.imported(); !imported.empty())
      in.record("policy.plugin.imported.sha256", imported);
  } catch (const engine::InputError& error) {
    in.fail("policy.plugin", error.what());
  }
}

using engine::TierKind;

constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

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

/// The rates of the card's link; the rest is keys.
void bind_link(ExperimentConfig& config) {
  backends::LinkModel link =
      backends::link_model(config.gpu.link, config.host_memory, config.bytes_per_block);
  link.infinite = config.link.infinite;
  link.block_us = config.link.block_us;
  link.duplex = config.link.duplex;
  config.link = link;
}

/// Host memory of the tier in blocks: by bytes, or by the tokens that it holds.
std::int64_t bind_size(ParamBinder& in, const std::string& policy, int block_size,
                       std::int64_t bytes_per_block) {
  const std::string by_tokens = "engine.host_kv_tokens";
  if (in.has(by_tokens) && in.has("dram_gib"))
    in.fail(by_tokens, "sets the host tier's size, and so does dram_gib");
  if (in.has(by_tokens)) return in.integer(by_tokens) / block_size;
  in.require("dram_gib",
             ": policy \"" + policy + "\" keeps KV in host memory, whose size must be given");
  const double bytes = in.number("dram_gib") * 0x1p30;
  return static_cast<std::int64_t>(bytes / static_cast<double>(bytes_per_block));
}

/// The disk behind the host tier, in blocks. Other tiers have none.
void bind_disk(ParamBinder& in) {
  ExperimentConfig& config = in.config;
  const double gib = in.number("policy.disk_gib");
  if (gib == 0 || config.engine.tier.kind != TierKind::offload) return;
  if (config.backend != "sim")
    in.fail("policy.disk_gib", "needs backend \"sim\", which alone models a disk");
  if (config.policy.prefetch != "none")
    in.fail("policy.disk_gib",
            "must be 0 with policy.prefetch, which loads from host memory alone");
  const double blocks = gib * 0x1p30 / static_cast<double>(config.bytes_per_block);
  if (!(blocks >= 1 && blocks <= static_cast<double>(kMostBlocks)))
    in.fail("policy.disk_gib", "must hold at least one block, and at most 2^30");
  config.engine.tier.disk_blocks = static_cast<std::int64_t>(blocks);
  config.disk.bytes_per_block = config.bytes_per_block;
}

}  // namespace

void bind_policy(ParamBinder& in) {
  const engine::EngineConfig& engine = in.config.engine;
  policies::PolicyConfig& policy = in.config.policy;
  policy.admission.parameters = policy.eviction_rule.parameters = policy.estimator.parameters =
      policy.parameters;
  policy.max_num_batched_tokens = engine.scheduler.max_num_batched_tokens;
  policy.block_size = engine.kv.block_size;
  bind_plugin(in);
}

void bind_block_bytes(ExperimentConfig& config) {
  const model::ModelShape& shape = config.model;
  const int wide =
      config.transformer ? model::size_of(config.transformer->dtype) : shape.dtype_bytes;
  config.bytes_per_block = config.engine.kv.block_size * model::kv_scalars_per_token(shape) *
                           model::kv_scalar_bytes(shape, wide);
}

void bind_tier(ParamBinder& in) {
  ExperimentConfig& config = in.config;
  engine::TierConfig& tier = config.engine.tier;
  const int block_size = config.engine.kv.block_size;
  tier.kind = kind_of(in);
  const std::string preemption = in.text("policy.preemption");
  config.engine.scheduler.preempt_by_block = preemption == "partial";
  tier.swap_if_cheaper = preemption == "adaptive";
  tier.as_v0_26 = in.text("sim.server") != "none" && in.text("engine.scheduler") != "vllm-0.33";
  if (tier.as_v0_26) config.engine.scheduler.version = engine::Version::v0_26;
  if (tier.kind == TierKind::lmcache && tier.chunk_tokens % block_size != 0)
    in.fail("policy.chunk_tokens",
            "must be a multiple of engine.block_size (" + std::to_string(block_size) + ")");
  bind_scale(in);
  bind_link(config);
  bind_disk(in);
  if (tier.kind != TierKind::none) {
    tier.host_blocks = bind_size(in, config.policy_name, block_size, config.bytes_per_block);
    const bool by_tokens = in.has("engine.host_kv_tokens");
    if (tier.host_blocks > kMostBlocks)
      in.fail(by_tokens ? "engine.host_kv_tokens" : "dram_gib", "must hold at most 2^30 blocks");
  } else {
    in.number("dram_gib");
    in.integer("engine.host_kv_tokens");
  }
}

}  // namespace worker
