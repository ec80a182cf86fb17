#include "workers/cell/estimate.hpp"

#include <algorithm>

#include "workers/backends/sim/cost_model.hpp"

namespace worker {
namespace {

using engine::to_seconds;

/// Seconds of a full prefill step, and of a step in which `sequences` decode.
double prefill_step_s(const backends::CostModel& model, int tokens, double context) {
  backends::StepShape step;
  step.tokens = step.prefill_tokens = tokens;
  step.logits_rows = 1;
  step.prefill_context_products = tokens * context / 2;
  step.prefill_kv_tokens = static_cast<std::int64_t>(context);
  return to_seconds(model.step_time(step));
}

double decode_step_s(const backends::CostModel& model, int sequences, double context) {
  backends::StepShape step;
  step.tokens = step.decodes = step.logits_rows = sequences;
  step.decode_context_tokens = static_cast<std::int64_t>(sequences * context);
  return to_seconds(model.step_time(step));
}

/// Tokens that a host tier, and the disk behind it, keep between turns.
double host_tokens(const ExperimentConfig& config) {
  const engine::TierConfig& tier = config.engine.tier;
  const bool keeps =
      tier.kind == engine::TierKind::offload || tier.kind == engine::TierKind::lmcache;
  return keeps ? static_cast<double>(tier.host_blocks + tier.disk_blocks) *
                     config.engine.kv.block_size
               : 0;
}

bool has_word(const server::ServerConfig& server, const char* word) {
  return std::ranges::find(server.command, word) != server.command.end();
}

/// Whether its caches can be emptied between cells, as far as its words tell.
bool can_reset(const server::ServerConfig& server) {
  switch (server.kind) {
    case server::Kind::vllm:
      return server.environment.contains("VLLM_SERVER_DEV_MODE") &&
             has_word(server, "--enable-prompt-tokens-details");
    case server::Kind::sglang:
      return true;
    case server::Kind::llamacpp:
      return has_word(server, "--slot-save-path") && has_word(server, "-cram");
    case server::Kind::openai:
      break;
  }
  return false;
}

}  // namespace

Absence absence_of(const ExperimentConfig& config, WorkloadCache& workloads) {
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  const Demand& demand = workloads.demand();
  const double returns = demand.turns - static_cast<double>(load.workload.jobs.size());
  if (returns <= 0) return {};
  const auto model = backends::make_cost_model(config.cost_model, config.gpu, config.model);
  const int budget = config.engine.scheduler.max_num_batched_tokens;
  Absence absence{.answer = demand.output / demand.turns,
                  .gap_s = demand.gaps_s / returns,
                  .step_s = prefill_step_s(*model, budget, demand.context)};
  absence.tokens =
      std::min(demand.prompt, budget * (absence.answer + absence.gap_s / absence.step_s));
  return absence;
}

ServerStarts server_starts(const ExperimentConfig& config) {
  if (!config.server || !config.server->url.empty()) return {};
  const server::ServerConfig& server = *config.server;
  constexpr double kBytesPerSecond = 1e9;
  const double compiles_s = server.kind == server::Kind::llamacpp ? 0.5 : 60;
  const bool afresh = server.reset == server::Reset::restart ||
                      (server.reset == server::Reset::automatic && !can_reset(server));
  return {compiles_s + static_cast<double>(model::weight_bytes(config.model)) / kBytesPerSecond,
          afresh};
}

CellEstimate estimate_cell(const ExperimentConfig& config, WorkloadCache& workloads) {
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  const auto model = backends::make_cost_model(config.cost_model, config.gpu, config.model);
  const Demand& demand = workloads.demand();
  const auto jobs = static_cast<double>(load.workload.programs());
  const int budget = config.engine.scheduler.max_num_batched_tokens;
  const double pool =
      static_cast<double>(config.engine.kv.num_blocks - 1) * config.engine.kv.block_size;

  const double alone_s =
      (demand.gaps_s + demand.output * decode_step_s(*model, 1, demand.context) +
       demand.new_tokens / budget * prefill_step_s(*model, budget, demand.context)) /
      jobs;
  const double last_arrival_s = to_seconds(load.arrivals.back());
  const int most_live = config.workload.arrivals.most_live;
  const double most = most_live > 0 ? std::min<double>(most_live, jobs) : jobs;
  const double alive = std::clamp(jobs * alone_s / std::max(last_arrival_s, 1e-9), 1.0, most);
  // KV that fits neither pool nor host tier, which also has what is in the pool, is evicted between
  // turns, as in an LRU cache that is accessed cyclically.
  const double kept = std::min(1.0, std::max(pool, host_tokens(config)) / (alive * demand.context));
  const double prefill =
      demand.new_tokens + (kept < 1 ? 1 - kept * kept : 0) * (demand.prompt - demand.new_tokens);
  const double batch = std::clamp(std::min(alive, pool / demand.context), 1.0,
                                  static_cast<double>(config.engine.scheduler.max_num_seqs));
  const double prefill_steps = prefill / budget;
  // Decodes share prefill steps; the rest needs steps of its own.
  const double decode_steps = std::max(0.0, demand.output / batch - prefill_steps);
  const double busy_s =
      prefill_steps * prefill_step_s(*model, budget, demand.context) +
      decode_steps * decode_step_s(*model, static_cast<int>(batch), demand.context);
  return {std::max(busy_s, last_arrival_s + alone_s * (jobs / most)),
          prefill_steps + demand.output / std::max(1.0, batch / 2), load.workload.assumed};
}

double busy_seconds(const ExperimentConfig& config, const CellEstimate& estimate) {
  constexpr double kSimulatedStep_s = 6e-6;  // `kvsweep_bench sim`, with tables recorded, stored
  return config.backend == "sim" ? estimate.steps * kSimulatedStep_s : estimate.served_s;
}

}  // namespace worker
