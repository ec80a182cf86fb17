#pragma once
// Private to this room: each part takes its keys out of a cell's parameters.
#include "workers/binding/param_binder.hpp"
#include "workers/binding/profile_cache.hpp"
#include "workers/cell/experiment.hpp"

namespace worker {

/// The keys of the scheduler: engine.scheduler with its own, the limits of a step, policy.layout.
engine::SchedulerConfig bind_scheduler(ParamBinder& in, const model::ModelShape& shape);
/// Schedulers that have no prefix cache refuse one.
bool bind_prefix_caching(ParamBinder& in, const engine::SchedulerConfig& scheduler);
/// The blocks of `engine`'s pool that admissions leave free.
void bind_watermark(ParamBinder& in, engine::EngineConfig& engine);

/// The keys policy.*, except the host tier's.
policies::PolicyConfig bind_policy(ParamBinder& in, const engine::EngineConfig& engine);

/// The host tier: policy.tier with its keys, policy.preemption, dram_gib or engine.host_kv_tokens,
/// and the link.
HostLink bind_tier(ParamBinder& in, ExperimentConfig& config);

/// The keys workload.* and jps. Tokens lie in the model's vocabulary where `vocabulary` > 0.
WorkloadConfig bind_workload(ParamBinder& in, const ExperimentConfig& config, int vocabulary);

/// The keys weights.* and those of engine.* that only a backend with a real model uses; empty
/// for sim, where they make no difference.
std::optional<Transformer> bind_transformer(ParamBinder& in, const std::string& backend,
                                            const model::ModelConfig& model, Profiles& profiles);

/// The keys record.*: what is recorded beside the engine's own tables. After the engine's keys.
std::optional<backends::AccessLogOptions> bind_access_log(ParamBinder& in,
                                                          const ExperimentConfig& config);

}  // namespace worker
