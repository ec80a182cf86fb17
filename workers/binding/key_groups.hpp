#pragma once
// Private to this room: what of a cell's experiment the rows of the key table do not say, in the
// order in which it is bound. Each part adds to in.config.
#include "workers/binding/param_binder.hpp"
#include "workers/binding/profile_cache.hpp"

namespace worker {

/// The type of KV.
void bind_kv_dtype(ParamBinder& in, model::ModelShape& shape);
/// The keys of a real model; on sim they make no difference.
void bind_transformer(ParamBinder& in, const model::ModelConfig& model, Profiles& profiles);
/// The scheduler, the limits of a step, and policy.layout.
void bind_scheduler(ParamBinder& in);
/// Schedulers that have no prefix cache refuse one.
void bind_prefix_caching(ParamBinder& in);
/// The blocks of the pool that admissions leave free.
void bind_watermark(ParamBinder& in);
/// Content and arrivals. Tokens lie in the model's vocabulary where `vocabulary` > 0.
void bind_workload(ParamBinder& in, int vocabulary);
/// The parameters of rules, and the plugin.
void bind_policy(ParamBinder& in);
/// The host tier and its link.
void bind_tier(ParamBinder& in);
/// Bytes of a KV block, where model and block size are known.
void bind_block_bytes(ExperimentConfig& config);
/// Whether the accesses that are to be recorded exist.
void check_access_log(const ParamBinder& in);

}  // namespace worker
