#include "workers/binding/binding.hpp"

#include <algorithm>
#include <cmath>

#include "sweeps/definition/canonical_json.hpp"
#include "workers/backends/sim/cost_model.hpp"
#include "workers/backends/step_batch.hpp"
#include "workers/binding/key_groups.hpp"
#include "workers/binding/server.hpp"
#include "workers/policies/admission/config.hpp"

namespace worker {
namespace {

constexpr std::string_view kPolicyKeys = "policy.";

/// Raised by hand when the engine's results change: older archives then no longer count as done.
/// Where only some cells change, only theirs is.
std::int64_t engine_abi(const ExperimentConfig& config,
                        const std::map<std::string, sweep::Value>& identity) {
  const engine::TierConfig& tier = config.engine.tier;
  const bool once = identity.contains("policy.shared_prefixes");
  const bool looks = identity.contains("policy.first_wait_s") ||
                     config.policy.admission.rule == "plugin";  // at the clock, beside changes
  const int admission = once ? 60 : looks ? 40 : 0;
  const int disk = identity.contains("policy.disk_gib") ? 20 : 0;
  if (tier.kind == engine::TierKind::offload) return disk + admission + (tier.as_v0_26 ? 9 : 6);
  return admission + (config.policy.admission.max_programs > 0 ? 5 : 4);
}

/// Calls give(key, param) with the parameters of a cell on a backend that knows no server, and then
/// with those of its named policy, which the cell may have set itself.
template <class Give>
void give_params(const sweep::ParamMap& cell, Profiles& profiles, const Give& give) {
  for (const auto& [key, param] : cell)
    if (!key.starts_with("server.")) give(key, param);
  const sweep::Param* named = policy_without_server(cell);
  if (named == nullptr) return;
  give("policy", *named);
  const auto* name = std::get_if<std::string>(&named->value);
  if (name == nullptr) return;
  try {
    for (const auto& [key, param] : profiles.policy(*name))
      give(std::string(kPolicyKeys) + key, param);
  } catch (const sweep::SpecError& error) {
    throw sweep::SpecError(sweep::to_text(named->where) + ": " + error.what());
  }
}

/// The sweep file that parameters come from, for messages about what it lacks.
std::string document_of(const sweep::ParamMap& cell) {
  for (const auto& [key, param] : cell)
    if (param.where.line > 0) return param.where.file.text();
  return "cell";
}

/// A pool that is asked for must fit into the card's memory beside the weights. What more an engine
/// needs is only known on the card.
std::optional<Infeasible> too_large_for_card(const ExperimentConfig& config) {
  if (config.backend != "cuda" || config.transformer->kv_tokens == 0) return std::nullopt;
  const double pool = static_cast<double>(config.bytes_per_block) * config.engine.kv.num_blocks;
  const double weights = static_cast<double>(model::weight_bytes(config.model));
  const double memory = static_cast<double>(config.gpu.memory_mib) / 1024;
  if (pool + weights <= memory * 0x1p30) return std::nullopt;
  const auto gib = [](double bytes) {
    return std::to_string(std::llround(bytes / 0x1p30)) + " GiB";
  };
  return Infeasible("a KV pool of " + std::to_string(config.transformer->kv_tokens) + " tokens (" +
                    gib(pool) + ") beside the weights of " + config.model.name + " (" +
                    gib(weights) + ") does not fit into the " + gib(memory * 0x1p30) + " of " +
                    config.gpu.name);
}

/// The smallest number of three digits, to be written, that is not below `value`.
std::string at_least(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return sweep::formatted("%.3g", std::ceil(value / unit) * unit);
}

/// A host tier holds at least one of what it stores: a block, or a chunk of several.
std::optional<Infeasible> too_small_for_tier(const ParamBinder& in,
                                             const ExperimentConfig& config) {
  const engine::TierConfig& tier = config.engine.tier;
  const int block = config.engine.kv.block_size;
  const bool chunked = tier.kind == engine::TierKind::lmcache;
  const int tokens = chunked ? tier.chunk_tokens : block;
  if (tier.kind == engine::TierKind::none || tier.host_blocks >= tokens / block)
    return std::nullopt;
  const double bytes = static_cast<double>(config.bytes_per_block) * (tokens / block);
  const std::string least = in.has("engine.host_kv_tokens")
                                ? "engine.host_kv_tokens must be at least " + std::to_string(tokens)
                                : "dram_gib must be at least " + at_least(bytes / 0x1p30) + " GiB";
  return Infeasible(least + ", the size of one " + (chunked ? "chunk" : "block") + " of " +
                    std::to_string(tokens) + " tokens, which policy \"" + config.policy_name +
                    "\" stores whole");
}

/// Why the cell cannot run although every one of its values is allowed.
std::optional<Infeasible> infeasible(const ParamBinder& in, const ExperimentConfig& config) {
  if (auto too_large = too_large_for_card(config)) return too_large;
  if (auto too_small = too_small_for_tier(in, config)) return too_small;
  const engine::KvConfig& kv = config.engine.kv;
  const std::int64_t pool = std::int64_t{kv.num_blocks - 1} * kv.block_size;
  const int length = config.engine.scheduler.max_model_len;
  if (pool >= length) return std::nullopt;
  return Infeasible("the KV pool of " + config.gpu.name + " beside " + config.model.name +
                    " holds " + std::to_string(pool) +
                    " tokens in whole blocks; engine.max_model_len needs " +
                    std::to_string(length) + " for one sequence");
}

/// Tokens of the KV pool that the engine is limited to: the card's own, or that of engine.emulate.
std::int64_t usual_pool(ParamBinder& in, Profiles& profiles) {
  const ExperimentConfig& config = in.config;
  if (in.text("engine.emulate").empty()) return backends::kv_pool_tokens(config.gpu, config.model);
  if (in.has("engine.kv_tokens"))
    in.fail("engine.emulate", "names a pool, and so does engine.kv_tokens: give one of them");
  const auto gpu = in.profile("engine.emulate", profiles, &Profiles::gpu);
  return backends::kv_pool_tokens(gpu, config.model);
}

/// The pool in blocks. On a GPU without engine.kv_tokens it is what the memory has room for; then
/// the number here, the profile's, is for planning.
void bind_pool(ParamBinder& in, Profiles& profiles) {
  ExperimentConfig& config = in.config;
  const int block_size = in.small("engine.block_size");
  bind_block_bytes(config);
  const std::int64_t usual = usual_pool(in, profiles);
  const std::int64_t tokens = in.integer("engine.kv_tokens", usual);
  const std::int64_t blocks = tokens / block_size;
  if (blocks >= kMostOf32Bits) in.fail("engine.kv_tokens", "must give fewer than 2^31 blocks");
  const bool measured = !in.has("engine.kv_tokens") && !in.has("engine.emulate");
  if (config.backend == "cuda" && !measured) config.transformer->kv_tokens = tokens;
  if (config.backend != "cpu" && in.has("engine.kv_tokens") && tokens != usual)
    config.changed_pool = "engine.kv_tokens=" + std::to_string(tokens);
  config.engine.kv.num_blocks = static_cast<int>(blocks) + 1;  // and the null block
}

/// The settings that determine the jobs, and whether they are accepted; arrivals apart.
std::string content_key(const std::map<std::string, sweep::Value>& identity) {
  std::map<std::string, sweep::Value> content;
  for (const auto& [key, value] : identity) {
    const bool counts =
        (key.starts_with("workload.") && key != "workload.live") || key == "engine.max_model_len";
    if (counts) content.emplace(key, value);
  }
  return sweep::canonical_json(content);
}

/// How a sweep changes the card's constants of steps, to see what depends on them.
backends::CostScale bind_scale(ParamBinder& in, const std::string& backend) {
  const backends::CostScale scale{.fixed = in.number("sim.fixed_scale"),
                                  .token = in.number("sim.token_scale")};
  return backend == "sim" ? scale : backends::CostScale();
}

/// Puts the constants of a server, as it schedules in this cell, in place of this engine's.
void use_steps_of(ParamBinder& in, const std::string& server) {
  ExperimentConfig& config = in.config;
  if (config.cost_model != "measured") in.fail("sim.server", "needs sim.cost_model \"measured\"");
  if (config.model.fp8_kv)
    in.fail("engine.kv_dtype", "must be \"bf16\" with sim.server, whose steps had no other");
  const auto& known = config.gpu.servers;
  const auto found = known.find(server + (config.engine.async_scheduling ? ".async" : ".sync"));
  if (found != known.end() && found->second.model == config.model.name) {
    config.gpu.measured = found->second;
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, fit] : known)
    if (fit.model == config.model.name) names.push_back(name);
  in.fail("sim.server", "needs constants of it on " + config.gpu.name +
                            (config.engine.async_scheduling ? " with" : " without") +
                            " engine.async_scheduling; the card's profile has for this model: " +
                            (names.empty() ? "none" : sweep::joined(names)));
}

void bind_experiment(ParamBinder& in, Profiles& profiles) {
  ExperimentConfig& config = in.config;
  config.gpu = in.profile("gpu", profiles, &Profiles::gpu);
  model::ModelConfig model = in.profile("model", profiles, &Profiles::model_config);
  bind_kv_dtype(in, model.shape);
  config.model = model.shape;
  config.gpu = backends::scaled(config.gpu, bind_scale(in, config.backend));
  const bool is_sim = config.backend == "sim";
  const std::string server = in.text("sim.server");
  const bool is_server = server != "none" && is_sim;
  config.cost_model =
      in.text("sim.cost_model",
              is_server ? "measured" : backends::usual_cost_model(config.gpu, config.model));
  if (!is_sim) config.cost_model = "kernels";  // what policies are told of the card
  bind_transformer(in, model, profiles);
  bind_scheduler(in);
  bind_prefix_caching(in);
  bind_pool(in, profiles);
  bind_watermark(in);
  bind_workload(in, config.transformer ? model.shape.vocab : 0);
  in.take_all();
  if (is_server) use_steps_of(in, server);
  config.policy_name = in.text("policy");
  bind_policy(in);
  bind_tier(in);
  config.engine.kv.partial_blocks_first = config.policy.eviction == "partial_first" || is_server ||
                                          config.engine.scheduler.version == engine::Version::v0_33;
  config.engine.tier.arc = config.policy.host_eviction == "arc";
  check_access_log(in);
  // The host works while the device computes, so that no step waits for it.
  if (config.engine.async_scheduling) config.gpu.kernels.step_overhead_us = 0;
}

/// A table, one refusal a row: splitting it would hide which exclude each other.
void check_together(const ParamBinder& in, const ExperimentConfig& config) {
  const engine::SchedulerConfig& scheduler = config.engine.scheduler;
  const engine::TierConfig& tier = config.engine.tier;
  const std::string &eviction = config.policy.eviction,
                    &host_eviction = config.policy.host_eviction;
  const engine::StoreMode store = tier.store_mode;
  const bool by_priority = config.policy.order == "priority",
             offloads = tier.kind == engine::TierKind::offload;
  const bool prefetches = config.policy.prefetch != "none";
  const bool ranked = eviction != "lru" && eviction != "partial_first";
  const bool stores_soon = store == engine::StoreMode::prompt || store == engine::StoreMode::all;
  const struct {
    bool holds;
    const char *key, *problem;
  } kRefusals[] = {
      {by_priority && scheduler.is_vllm_042(), "policy.order",
       "needs engine.scheduler \"v1\", since equal requests could starve each other"},
      // Among equals the oldest is preempted: two long prefills would evict each other forever.
      {by_priority && !scheduler.reserve_full_sequence, "policy.order",
       "needs engine.reserve_full_sequence, since equal requests could starve each other"},
      {ranked && prefetches, "policy.eviction",
       "must be \"lru\" with policy.prefetch, which ranks KV itself"},
      {ranked && offloads && store == engine::StoreMode::lazy, "policy.eviction",
       "must be \"lru\" or \"partial_first\" with policy.store \"lazy\", which stores what is "
       "evicted next in that order"},
      {host_eviction != "lru" && prefetches, "policy.host_eviction",
       "must be \"lru\" with policy.prefetch, which ranks KV itself"},
      {prefetches && !(offloads && stores_soon), "policy.prefetch",
       "needs policy.tier \"offload\" and policy.store \"eager\", \"prompt\" or \"all\""},
      {config.model.fp8_kv && config.transformer && config.transformer->contiguous_prefill,
       "engine.prefill_attention",
       "must be \"paged\" with engine.kv_dtype \"fp8_e4m3\", since a projection writes bf16"},
      {policies::counts_once(config.policy.admission.parameters) &&
           !config.engine.kv.prefix_caching,
       "policy.shared_prefixes",
       "must be \"each\" without engine.prefix_caching, by which contexts share blocks"},
      {!config.link.duplex && config.backend == "cuda", "policy.duplex",
       "must be true for backend cuda, whose copy engines work side by side"},
  };
  for (const auto& each : kRefusals)
    if (each.holds) in.fail(each.key, each.problem);
}

/// Why asynchronous scheduling is not possible with these settings; empty: it is.
std::string not_built_async(const ExperimentConfig& config) {
  if (config.backend == "cuda" && config.access_log)
    return "record.access_log on backend cuda, whose log follows one step at a time";
  if (config.engine.scheduler.batching != engine::Batching::v1)
    return "a scheduler of vLLM 0.4.2 or policy.layout \"contiguous\", which decide by the tokens "
           "of the step before";
  return "";
}

void require_built(const ExperimentConfig& config) {
  if (config.backend == "cuda") {
    const std::string problem =
        backends::why_not(backends::cuda_kernels(), config.engine.kv.block_size, config.model);
    if (!problem.empty()) throw NotBuilt("not built yet: " + problem);
  }
  if (!config.engine.async_scheduling) return;
  const std::string part = not_built_async(config);
  if (!part.empty()) throw NotBuilt("not built yet: engine.async_scheduling with " + part);
}

/// The keys of policies that the cell sets to another value than the named policy has, where the
/// value counts.
std::map<std::string, sweep::Value> policy_changes(const sweep::ParamMap& cell,
                                                   const BoundCell& bound, Profiles& profiles) {
  std::map<std::string, sweep::Value> changes;
  const sweep::ParamMap& named = profiles.policy(bound.config.policy_name);
  for (const auto& [key, param] : cell) {
    if (!key.starts_with(kPolicyKeys) || !bound.identity.contains(key)) continue;
    const auto own = named.find(key.substr(kPolicyKeys.size()));
    const sweep::Value* usual =
        own != named.end() ? &own->second.value : sweep_keys().fallback(key);
    if (usual != nullptr && !sweep::same_value(*usual, param.value))
      changes.emplace(key, param.value);
  }
  return changes;
}

/// The constants of the cost model are part of what a cell is.
void record_constants(ParamBinder& in, const ExperimentConfig& config) {
  try {
    in.record(
        "sim.constants",
        backends::make_cost_model(config.cost_model, config.gpu, config.model)->digest_text());
  } catch (const engine::InputError& error) {
    in.refuse("sim.cost_model", std::string("cannot be used: ") + error.what());
  }
}

}  // namespace

BoundCell bind(const sweep::ParamMap& written, const std::string& backend,
               std::int64_t arrival_seed, Profiles& profiles) {
  refuse_secrets(written);
  if (backend == "server")
    return bind_server_cell(written, document_of(written), arrival_seed, profiles);
  const std::string profile = chosen_profile(written);
  if (!profile.empty() && policy_without_server(written) == nullptr)
    throw Infeasible("not modelled: the profile " + profile +
                     " names no policy (sim) that stands for it on backend " + backend);
  refuse_values_of_servers_alone(written, backend);
  ParamBinder in(document_of(written));
  give_params(written, profiles, [&](const auto& key, const auto& param) { in.give(key, param); });
  in.record_backend(backend);
  in.record("schema", sweep::kSchema);
  in.record("repeat.seed", arrival_seed);
  bind_experiment(in, profiles);
  set_arrival_seed(in.config, arrival_seed);
  in.record("engine_abi", engine_abi(in.config, in.identity()));
  const std::optional<Infeasible> problem = infeasible(in, in.config);
  check_together(in, in.config);
  in.reject_unknown();
  if (backend == "sim") record_constants(in, in.config);
  require_built(in.config);
  if (problem) throw *problem;
  BoundCell bound = bound_cell(in);
  bound.policy_changes = policy_changes(written, bound, profiles);
  return bound;
}

BoundCell bound_cell(ParamBinder& in) {
  BoundCell bound;
  bound.identity = in.identity();
  bound.counting = in.counting();
  bound.config = std::move(in.config);
  bound.config.workload.content_key = content_key(bound.identity);
  return bound;
}

void set_arrival_seed(ExperimentConfig& config, std::int64_t seed) {
  ArrivalConfig& arrivals = config.workload.arrivals;
  if (arrivals.kind == ArrivalConfig::Kind::poisson) arrivals.seed = seed;
}

std::string BoundCell::policy_label(const sweep::AxisValues& axes) const {
  std::string label = config.policy_name;
  for (const auto& [key, value] : policy_changes) {
    if (sweep::value_on(axes, key) != nullptr) continue;
    label += '+' + key.substr(kPolicyKeys.size()) + '=' + sweep::bare_text(value);
  }
  return label;
}

std::string label(const sweep::Cell& cell) {
  static const std::string kEmulate = "engine.emulate";
  sweep::AxisValues shown = cell.axes;
  const auto emulated = cell.params.find(kEmulate);
  if (emulated != cell.params.end() && sweep::value_on(shown, kEmulate) == nullptr)
    shown.emplace_back(kEmulate, emulated->second.value);
  if (cell.repeat > 0) shown.emplace_back("repeat", std::int64_t{cell.repeat});
  return sweep::to_text(shown);
}

sweep::KeyRules key_rules(Profiles& profiles) {
  using sweep::Scope;
  const auto scope = [](std::string_view key) {
    if (key == "dram_gib") return Scope::some_cells;
    return key.starts_with(kPolicyKeys) ? Scope::some_cells_or_named : Scope::all_cells;
  };
  const auto counts = [&profiles](const sweep::ParamMap& cell, const std::string& key) {
    if (server_names(cell, key)) return true;
    const KeyTable& table = sweep_keys();
    std::vector<const sweep::Value*> values(table.names().size() + 1);  // with the backend's
    give_params(cell, profiles, [&](const std::string& name, const sweep::Param& param) {
      const std::size_t number = table.number_of(name);
      if (number != KeyTable::kUnknown && values[number] == nullptr) values[number] = &param.value;
    });
    const auto value_of = [&](std::size_t number) {
      return values[number] != nullptr || number == table.backend()
                 ? values[number]
                 : table.fallback(table.names()[number]);
    };
    return table.may_count(key, value_of);
  };
  return {scope, counts};
}

}  // namespace worker
