#include "workers/binding.hpp"

#include <algorithm>
#include <limits>

#include "sweeps/canonical_json.hpp"
#include "sweeps/spec.hpp"
#include "workers/backends/sim/cost_model.hpp"
#include "workers/param_binder.hpp"
#include "workers/policies/factory.hpp"

namespace worker {
namespace {

using Why = NotRunnable::Why;

/// Raised by hand when the engine's results change: older archives then no longer count as done.
constexpr std::int64_t kEngineAbi = 1;
constexpr int kIntMax = std::numeric_limits<int>::max();

/// The named policy's parameters under "policy.", where the cell does not set them itself.
sweep::ParamMap with_policy_profile(sweep::ParamMap params, Profiles& profiles) {
  const auto named = params.find("policy");
  if (named == params.end() || !std::holds_alternative<std::string>(named->second.value))
    return params;
  const std::string name = std::get<std::string>(named->second.value);
  try {
    for (const auto& [key, param] : profiles.policy(name))
      params.try_emplace("policy." + key, param);
  } catch (const sweep::SpecError& error) {
    throw sweep::SpecError(sweep::to_text(named->second.where) + ": " + error.what());
  }
  return params;
}

/// The sweep file that parameters come from, for messages about what it lacks.
std::string document_of(const sweep::ParamMap& cell) {
  for (const auto& [key, param] : cell)
    if (param.where.line > 0) return param.where.file;
  return "cell";
}

policies::PolicyConfig bind_policy(ParamBinder& in) {
  policies::PolicyConfig policy;
  policy.order = in.choice("policy.order", policy.order, policies::order_names());
  policy.retention = in.choice("policy.retention", policy.retention, policies::retention_names());
  const std::string victim =
      in.choice("policy.victim", "last_unpinned", {"last_unpinned", "latest_job"});
  policy.victim = victim == "latest_job" ? policies::VictimRule::latest_job
                                         : policies::VictimRule::last_unpinned;
  policy.ttl = engine::from_seconds(in.number("policy.ttl_s", 2.0, 0, 1e6));
  policy.threshold = engine::from_seconds(in.number("policy.threshold_s", 2.0, 0, 1e6));
  policy.pins.protect_waiting = in.boolean("policy.protect_waiting", false);
  policy.pins.release_on_handoff = in.boolean("policy.release_on_handoff", false);
  const std::string pressure =
      in.choice("policy.pressure_victim", "latest_job", {"latest_job", "latest_deadline"});
  policy.pins.pressure_victim = pressure == "latest_deadline"
                                    ? engine::PressureVictim::latest_deadline
                                    : engine::PressureVictim::latest_job;
  // What the chosen axes do not look at is no part of the cell.
  if (policy.order != "job_fcfs") in.forget({"policy.victim"});
  if (policy.retention != "pin") {
    in.forget({"policy.ttl_s", "policy.threshold_s", "policy.protect_waiting",
               "policy.release_on_handoff", "policy.pressure_victim"});
  }
  return policy;
}

/// Why the cell cannot run although every one of its values is allowed.
std::optional<NotRunnable> not_runnable(ParamBinder& in, const ExperimentConfig& config) {
  const std::string tier = in.choice("policy.tier", "none", {"none", "offload", "lmcache"});
  if (tier != "none") {
    return NotRunnable(Why::not_built, "not built yet: policy " + config.policy_name +
                                           " needs tier \"" + tier + '"');
  }
  const engine::KvConfig& kv = config.engine.kv;
  const std::int64_t pool = std::int64_t{kv.num_blocks - 1} * kv.block_size;
  const int length = config.engine.scheduler.max_model_len;
  if (pool >= length) return std::nullopt;
  return NotRunnable(Why::infeasible, "the KV pool of " + config.gpu.name + " beside " +
                                          config.model.name + " holds " + std::to_string(pool) +
                                          " tokens in whole blocks; engine.max_model_len needs " +
                                          std::to_string(length) + " for one sequence");
}

engine::SchedulerConfig bind_scheduler(ParamBinder& in, const model::ModelShape& shape) {
  engine::SchedulerConfig s;
  s.max_num_batched_tokens =
      in.small("engine.max_num_batched_tokens", s.max_num_batched_tokens, 1, kIntMax);
  s.max_num_seqs = in.small("engine.max_num_seqs", s.max_num_seqs, 1, 1 << 20);
  s.max_model_len =
      in.small("engine.max_model_len", std::min(s.max_model_len, shape.max_context), 2, kIntMax);
  s.long_prefill_token_threshold = in.small("engine.long_prefill_token_threshold", 0, 0, kIntMax);
  s.chunked_prefill = in.boolean("engine.chunked_prefill", true);
  s.reserve_full_sequence = in.boolean("engine.reserve_full_sequence", true);
  if (s.max_model_len > shape.max_context) {
    in.fail("engine.max_model_len", "must be at most the " + std::to_string(shape.max_context) +
                                        " tokens of " + shape.name);
  }
  if (s.max_num_batched_tokens < s.max_num_seqs) {
    in.fail("engine.max_num_batched_tokens",
            "must be at least engine.max_num_seqs (" + std::to_string(s.max_num_seqs) + ")");
  }
  if (!s.chunked_prefill && s.max_num_batched_tokens < s.max_model_len) {
    in.fail("engine.max_num_batched_tokens", "must be at least engine.max_model_len (" +
                                                 std::to_string(s.max_model_len) +
                                                 ") without chunked prefill");
  }
  return s;
}

engine::EngineConfig bind_engine(ParamBinder& in, const backends::GpuProfile& gpu,
                                 const model::ModelShape& shape) {
  engine::EngineConfig config;
  config.scheduler = bind_scheduler(in, shape);
  config.kv.block_size = in.small("engine.block_size", 16, 1, 1024);
  config.kv.prefix_caching = in.boolean("engine.prefix_caching", true);
  const std::int64_t tokens = in.integer("engine.kv_tokens", backends::kv_pool_tokens(gpu, shape),
                                         0, std::int64_t{1} << 40);
  const std::int64_t blocks = tokens / config.kv.block_size;
  if (blocks >= kIntMax) in.fail("engine.kv_tokens", "must give fewer than 2^31 blocks");
  config.kv.num_blocks = static_cast<int>(blocks) + 1;  // and the null block
  return config;
}

workload::SweSmithLikeConfig bind_swe_smith_like(ParamBinder& in,
                                                 const engine::SchedulerConfig& scheduler) {
  workload::SweSmithLikeConfig config;
  config.jobs = in.small("workload.jobs", config.jobs, 1, 100'000);
  config.seed = in.integer("workload.seed", config.seed, 0, INT64_MAX);
  config.gap_s = in.number("workload.gap_s", config.gap_s, 0, 1e6);
  config.min_turns = in.small("workload.min_turns", config.min_turns, 1, 17);
  config.max_turns = in.small("workload.max_turns", config.max_turns, 18, 100);
  constexpr int kLeastContext = 4096;
  config.max_context =
      in.small("workload.max_context", std::min(config.max_context, scheduler.max_model_len),
               kLeastContext, kIntMax);
  if (config.max_context < kLeastContext) {
    in.fail("workload.max_context", "must be at least " + std::to_string(kLeastContext) +
                                        " tokens for these jobs; engine.max_model_len allows " +
                                        std::to_string(scheduler.max_model_len));
  }
  return config;
}

workload::Agent8Config bind_agent8(ParamBinder& in) {
  workload::Agent8Config config;
  config.jobs = in.small("workload.jobs", config.jobs, 1, 100'000);
  config.seed = in.integer("workload.seed", config.seed, 0, INT64_MAX);
  config.gap_s = in.number("workload.gap_s", config.gap_s, 0, 1e6);
  config.tool_hint = in.boolean("workload.tool_hint", false);
  return config;
}

workload::Curation bind_curation(ParamBinder& in) {
  workload::Curation rule;
  rule.count = in.optional_small("workload.jobs", 1, kIntMax);
  rule.min_turns = in.small("workload.min_turns", 1, 1, kIntMax);
  rule.max_turns = in.optional_small("workload.max_turns", 1, kIntMax);
  rule.max_context = in.optional_small("workload.max_context", 1, kIntMax);
  const std::string order = in.choice("workload.order", "file", {"file", "id", "shuffled"});
  rule.order = order == "file" ? workload::JobOrder::file
               : order == "id" ? workload::JobOrder::id
                               : workload::JobOrder::shuffled;
  rule.seed = static_cast<std::uint64_t>(in.integer("workload.seed", 42, 0, INT64_MAX));
  return rule;
}

RecordedTrajectories bind_trajectories(ParamBinder& in, const engine::SchedulerConfig& scheduler) {
  RecordedTrajectories recorded;
  in.require("workload.path");
  recorded.reading.path = in.file("workload.path");
  recorded.tokenizer_path = in.file("workload.tokenizer");
  recorded.reading.curation = bind_curation(in);
  recorded.reading.model_context = scheduler.max_model_len;
  workload::GapRule& gap = recorded.reading.gap;
  gap.recorded = in.choice("workload.gap", "constant", {"constant", "recorded"}) == "recorded";
  if (gap.recorded) {
    gap.fallback_s = in.optional_number("workload.gap_fallback_s", 0, 1e6);
  } else {
    gap.gap_s = in.number("workload.gap_s", 1.0, 0, 1e6);
  }
  const bool tag = in.choice("workload.tool_fallback", "function_tag", {"none", "function_tag"}) ==
                   "function_tag";
  recorded.reading.tool_fallback =
      tag ? workload::ToolFallback::function_tag : workload::ToolFallback::none;
  return recorded;
}

ArrivalConfig bind_arrivals(ParamBinder& in, std::int64_t seed, const std::string& kind) {
  ArrivalConfig arrivals;
  const std::string process =
      in.choice("workload.arrivals", "poisson", {"poisson", "closed", "trace"});
  if (process != "poisson" && in.has("jps")) {
    in.fail("jps", "is the rate of Poisson arrivals and has no effect with workload.arrivals = \"" +
                       process + '"');
  }
  if (process == "closed") {
    arrivals.kind = ArrivalConfig::Kind::closed;
  } else if (process == "trace") {
    arrivals.kind = ArrivalConfig::Kind::trace;
    in.require("workload.arrival_trace");
    arrivals.trace_path = in.file("workload.arrival_trace");
  } else {
    in.require("jps");
    arrivals.rate_per_s = in.number("jps", 1, 1e-6, 1e6);
    arrivals.seed = seed;
    arrivals.window_s = in.optional_number("workload.window_s", 1e-3, 1e6);
    if (arrivals.window_s && kind == "trajectories") {
      in.fail("workload.window_s",
              "decides the number of generated jobs; recorded trajectories take workload.jobs");
    }
    if (arrivals.window_s && in.has("workload.jobs")) {
      in.fail("workload.window_s",
              "decides the number of jobs, so workload.jobs must not be given");
    }
  }
  return arrivals;
}

WorkloadConfig bind_workload(ParamBinder& in, const engine::SchedulerConfig& scheduler,
                             std::int64_t seed) {
  in.require("workload.kind");
  const std::string kind =
      in.choice("workload.kind", "", {"swe_smith_like", "agent8", "trajectories"});
  WorkloadConfig config;
  config.arrivals = bind_arrivals(in, seed, kind);
  if (kind == "swe_smith_like") {
    config.content = bind_swe_smith_like(in, scheduler);
  } else if (kind == "agent8") {
    config.content = bind_agent8(in);
  } else {
    config.content = bind_trajectories(in, scheduler);
  }
  return config;
}

/// What the jobs depend on, and whether they are accepted; arrivals apart.
std::string content_key(const std::map<std::string, sweep::Value>& identity) {
  std::map<std::string, sweep::Value> content;
  for (const auto& [key, value] : identity) {
    const bool counts = key.starts_with("workload.") || key == "engine.max_model_len";
    if (counts) content.emplace(key, value);
  }
  return sweep::canonical_json(content);
}

ExperimentConfig bind_experiment(ParamBinder& in, const std::string& backend,
                                 std::int64_t arrival_seed, Profiles& profiles) {
  ExperimentConfig config;
  config.backend = backend;
  in.require("gpu");
  config.gpu = in.profile("gpu", "", [&](const std::string& name) { return profiles.gpu(name); });
  config.model = in.profile("model", "llama-3.1-8b",
                            [&](const std::string& name) { return profiles.model(name); });
  config.cost_model = in.choice("sim.cost_model", "kernels", backends::cost_model_names());
  config.engine = bind_engine(in, config.gpu, config.model);
  config.workload = bind_workload(in, config.engine.scheduler, arrival_seed);
  in.require("policy");
  config.policy_name = in.text("policy", "");
  config.policy = bind_policy(in);
  return config;
}

void check_order(const ParamBinder& in, const ExperimentConfig& config) {
  if (config.policy.order != "priority" || config.engine.scheduler.reserve_full_sequence) return;
  // Among equals the eldest gives way: two long prefills would take each other's blocks for ever.
  in.fail("policy.order",
          "needs engine.reserve_full_sequence, since equal requests could starve each other");
}

/// The constants of the cost model are part of what a cell is.
void record_constants(ParamBinder& in, const ExperimentConfig& config) {
  try {
    in.record(
        "sim.constants",
        backends::make_cost_model(config.cost_model, config.gpu, config.model)->digest_text());
  } catch (const engine::InputError& error) {
    in.fail("sim.cost_model", error.what());
  }
}

}  // namespace

BoundCell bind(const sweep::ParamMap& cell, const std::string& backend, std::int64_t arrival_seed,
               Profiles& profiles) {
  const sweep::ParamMap params = with_policy_profile(cell, profiles);
  ParamBinder in(params, document_of(cell));
  in.record("backend", backend);
  in.record("engine_abi", kEngineAbi);
  in.record("schema", sweep::kSchema);
  in.record("repeat.seed", arrival_seed);
  BoundCell bound;
  bound.config = bind_experiment(in, backend, arrival_seed, profiles);
  const std::optional<NotRunnable> problem = not_runnable(in, bound.config);
  check_order(in, bound.config);
  in.ignore("dram_gib");  // no tier is built that would hold anything there
  in.reject_unknown();
  record_constants(in, bound.config);
  if (backend != "sim")
    throw NotRunnable(Why::not_built, "not built yet: backend \"" + backend + '"');
  if (problem) throw *problem;
  bound.identity = in.take_identity();
  bound.config.workload.content_key = content_key(bound.identity);
  return bound;
}

bool uses_host_tier(const sweep::ParamMap& cell, Profiles& profiles) {
  const sweep::ParamMap params = with_policy_profile(cell, profiles);
  const auto tier = params.find("policy.tier");
  return tier != params.end() && tier->second.value != sweep::Value(std::string("none"));
}

}  // namespace worker
