#include "workers/bounds/cell_bound.hpp"

namespace bounds {
namespace {

using worker::ExperimentConfig;

std::unique_ptr<backends::CostModel> cost_of(const ExperimentConfig& config) {
  return backends::make_cost_model(config.cost_model, config.gpu, config.model);
}

std::int64_t pool_tokens(const ExperimentConfig& config) {
  return std::int64_t{config.engine.kv.num_blocks - 1} * config.engine.kv.block_size;
}

std::string why_alone(const ExperimentConfig& config, const backends::CostModel& cost) {
  if (config.engine.scheduler.batching != engine::Batching::v1)
    return "the limits of a step are known for scheduler v1 alone";
  if (config.workload.arrivals.most_live > 0) return "jobs wait for others before they arrive";
  if (!cost.line_below(1)) return "no line below the costs of a step is known";
  return {};
}

}  // namespace

CellBound bound_of(const ExperimentConfig& config, worker::WorkloadCache& workloads) {
  const engine::SchedulerConfig& scheduler = config.engine.scheduler;
  const worker::Load load = workloads.load(config.workload, scheduler.max_model_len);
  const auto cost = cost_of(config);
  const auto jobs = needs_of(load.workload, config.engine.kv.block_size);
  CellBound bound{{}, why_alone(config, *cost)};
  if (!bound.alone_because.empty()) {
    const bool limited = scheduler.batching == engine::Batching::v1;
    bound.mean.alone_s = alone_mean(jobs, *cost, limited ? scheduler.max_num_batched_tokens : 0);
    return bound;
  }
  std::vector<double> arrivals_s;
  for (const engine::Nanos at : load.arrivals) arrivals_s.push_back(engine::to_seconds(at));
  const Limits limits{scheduler.max_num_batched_tokens, scheduler.max_num_seqs,
                      pool_tokens(config)};
  bound.mean = bound_mean(jobs, arrivals_s, *cost, limits);
  return bound;
}

HitBound most_hits_of(const ExperimentConfig& config, worker::WorkloadCache& workloads) {
  const worker::Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  const bool whole = config.engine.tier.kind == engine::TierKind::none;
  return most_hits(load.workload, config.engine.kv.block_size,
                   whole ? Found::whole_blocks : Found::tokens);
}

TurnBlocks turn_blocks_of(const ExperimentConfig& config, worker::WorkloadCache& workloads) {
  const worker::Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  return {load.workload, config.engine.kv.block_size};
}

std::int64_t block_capacity(const ExperimentConfig& config) {
  const engine::TierConfig& tier = config.engine.tier;
  const bool host = tier.kind != engine::TierKind::none;
  return config.engine.kv.num_blocks - 1 + (host ? tier.host_blocks + tier.disk_blocks : 0);
}

std::string bound_key(const ExperimentConfig& config) {
  const worker::ArrivalConfig& arrivals = config.workload.arrivals;
  const engine::SchedulerConfig& limits = config.engine.scheduler;
  std::string key = config.workload.content_key + '\n' + arrivals.trace_path + '\n' +
                    config.gpu.name + '\n' + cost_of(config)->digest_text();
  for (const double value : {arrivals.rate_per_s, arrivals.window_s.value_or(-1)})
    key += '\n' + std::to_string(value);
  const auto whole = [](auto value) { return static_cast<std::int64_t>(value); };
  for (const std::int64_t value :
       {whole(arrivals.kind), arrivals.seed, whole(arrivals.most_live),
        whole(config.workload.vocabulary), whole(limits.max_num_batched_tokens),
        whole(limits.max_num_seqs), whole(limits.batching), whole(config.engine.kv.block_size),
        pool_tokens(config)})
    key += '\n' + std::to_string(value);
  return key;
}

}  // namespace bounds
