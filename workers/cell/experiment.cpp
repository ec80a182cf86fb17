#include "workers/cell/experiment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "sweeps/process/freed_memory.hpp"
#include "workers/backends/sim/cost_model.hpp"
#include "workers/cell/client.hpp"
#include "workers/cell/execution.hpp"
#include "workers/cell/server_cell.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/estimators/estimator_error.hpp"
#include "workers/policies/factory.hpp"
#include "workers/record/figures.hpp"
#include "workers/record/recorder.hpp"
#include "workers/workload/arrivals.hpp"
#include "workers/workload/trace/read_trace.hpp"

namespace worker {
namespace {

constexpr double kMostTokens = 1e9;  // of a context, however wrong a hint is

/// Seconds to prefill a context of `tokens` tokens alone, in chunks of the token budget.
double prefill_seconds(const backends::CostModel& model, int tokens, int budget) {
  double seconds = 0;
  for (int before = 0; before < tokens; before += budget) {
    const int chunk = std::min(budget, tokens - before);
    backends::StepShape step;
    step.tokens = step.prefill_tokens = chunk;
    step.logits_rows = 1;
    step.prefill_context_products = chunk * (before + (chunk + 1) / 2.0);
    step.prefill_kv_tokens = before + chunk;
    seconds += engine::to_seconds(model.step_time(step));
  }
  return seconds;
}

policies::Work work_from(const workload::Job& job, std::size_t turn) {
  policies::Work work;
  for (; turn < job.turns.size(); ++turn)
    work += {static_cast<double>(job.turns[turn].prompt_tokens - computed_before(job, turn)),
             static_cast<double>(job.turns[turn].output_tokens)};
  return work;
}

/// Seconds to copy the KV of a token over the link, averaged over both directions; 0 without swap
/// space.
double swap_seconds_per_token(const ExperimentConfig& config) {
  constexpr double kFree = 1e-15;  // for an infinite link; 0 would mean no link
  if (config.engine.tier.kind != engine::TierKind::swap) return 0;
  const backends::LinkModel& link = config.link;
  if (link.infinite) return kFree;
  const double bytes_per_token =
      static_cast<double>(link.bytes_per_block) / config.engine.kv.block_size;
  const double launches_s = link.block_us / 1e6 / config.engine.kv.block_size;
  return bytes_per_token * (1 / link.load_gb_s + 1 / link.store_gb_s) / 2 / 1e9 + launches_s;
}

/// The cell's policy with all that it may know: gaps, work and contexts of the workload, for
/// oracles and hints, and the card's time to recompute evicted KV, by its cost model. Borrows the
/// workload.
policies::PolicyConfig with_knowledge(const ExperimentConfig& config,
                                      const workload::Workload& workload) {
  policies::PolicyConfig policy = config.policy;
  const policies::GapSource gap = [&workload](engine::JobId job, int turn) {
    const workload::Job& of = workload.jobs.at(index(job));
    return of.turns.at(static_cast<std::size_t>(turn)).gap;
  };
  policy.estimator.truth = gap;
  policy.estimator.hints = gap;
  policy.true_work = [&workload](engine::JobId job, int turn) {
    return work_from(workload.jobs.at(index(job)), static_cast<std::size_t>(turn));
  };
  policy.admission.last_context = [&workload, error = policy.estimator.error](engine::JobId job) {
    const auto factor = policies::error_factor(error, job, 0);
    if (!factor) return 0;
    const double tokens = *factor * workload::longest_turn(workload.jobs.at(index(job)));
    return static_cast<int>(std::clamp(tokens, 1.0, kMostTokens));
  };
  const auto model = backends::make_cost_model(config.cost_model, config.gpu, config.model);
  policy.reload = policies::fit_reload_cost([&](int tokens) {
    return prefill_seconds(*model, tokens, config.engine.scheduler.max_num_batched_tokens);
  });
  policy.swap_s_per_tok = swap_seconds_per_token(config);
  return policy;
}

engine::Nanos block_load_time(const ExperimentConfig& config) {
  const backends::LinkModel& link = config.link;
  if (link.infinite) return engine::Nanos{0};
  // 1 GB/s is one byte per nanosecond.
  return engine::Nanos{std::llround(static_cast<double>(link.bytes_per_block) / link.load_gb_s +
                                    link.block_us * 1e3)};
}

using engine::Nanos;

/// The recorded times, counted from the first.
std::vector<Nanos> recorded_arrivals(const std::vector<double>& times_s,
                                     const std::string& source) {
  std::vector<Nanos> arrivals;
  double first_s = std::numeric_limits<double>::infinity();
  for (const double t_s : times_s) first_s = std::min(first_s, t_s);
  for (const double t_s : times_s) {
    if (std::isnan(t_s))
      throw InputError(source +
                       ": does not say when its jobs began, so workload.arrivals must not be "
                       "\"recorded\"; allowed: poisson, closed, live, trace");
    arrivals.push_back(engine::from_seconds(t_s - first_s));
  }
  return arrivals;
}

std::vector<Nanos> arrivals_for(const ArrivalConfig& config, std::size_t jobs) {
  switch (config.kind) {
    case ArrivalConfig::Kind::poisson:
      return workload::poisson_arrivals(config.rate_per_s, config.seed, jobs);
    case ArrivalConfig::Kind::closed:
      return workload::closed_batch(jobs);
    case ArrivalConfig::Kind::trace:
    case ArrivalConfig::Kind::recorded:
      break;
  }
  std::vector<Nanos> arrivals = workload::trace_arrivals(config.trace_path);
  if (arrivals.size() < jobs) {
    throw InputError(config.trace_path + ": must hold an arrival for each of the " +
                     std::to_string(jobs) + " jobs, found " + std::to_string(arrivals.size()));
  }
  arrivals.resize(jobs);
  return arrivals;
}

struct GeneratedWorkload {
  workload::Workload workload;
  std::string curation;
  std::vector<double> arrivals_s{};
};

/// `jobs` is set when the arrivals determine the number of generated jobs.
struct WorkloadGenerator {
  std::optional<int> jobs;
  std::uint32_t vocabulary;

  GeneratedWorkload operator()(const RecordedTrace& config) const {
    auto set = std::make_shared<workload::TraceSet>(workload::read_trace(config.path));
    const std::string taken =
        std::to_string(set->sessions.size()) + " jobs in the trace; left out: ";
    workload::PlayedTrace played = workload::play(std::move(set), config.rules, vocabulary);
    return {std::move(played.workload), taken + played.left_out, std::move(played.arrivals_s)};
  }
  GeneratedWorkload operator()(workload::SweSmithLikeConfig config) const {
    config.jobs = jobs.value_or(config.jobs);
    return {workload::make_swe_smith_like(config), {}};
  }
  GeneratedWorkload operator()(workload::Agent8Config config) const {
    config.jobs = jobs.value_or(config.jobs);
    return {workload::make_agent8(config), {}};
  }
  GeneratedWorkload operator()(const workload::RequestListConfig& config) const {
    return {workload::make_request_list(config), {}};
  }
};

void fold_tokens(workload::Workload& workload, std::uint32_t vocabulary) {
  for (workload::Job& job : workload.jobs)
    for (engine::TokenId& token : job.tokens) token %= vocabulary;
}

void check_lengths(const workload::Workload& workload, int max_model_len) {
  for (const workload::Job& job : workload.jobs) {
    const int longest = workload::longest_turn(job);
    if (longest <= max_model_len) continue;
    throw InputError(
        workload.source + ": job " + job.id + " has a context of " + std::to_string(longest) +
        " tokens; engine.max_model_len allows " + std::to_string(max_model_len) +
        ": raise it, or make jobs shorter (workload.scale of agent8, workload.max_context)");
  }
}

/// Bytes of the process that are in memory; 0 where the system does not say.
std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns freed memory after a cell that fetched much. A small cell's is better left to the next
/// cell, which would fetch the same pages again. What the C library counts as free does not tell:
/// it includes what was returned before.
void return_much(std::size_t resident_before) {
  constexpr std::size_t kMuch = std::size_t{64} << 20;
  if (resident_bytes() > resident_before + kMuch) sweep::return_freed_memory();
}

/// Serves all jobs. Engine and client end here, since figures and archive need memory of their own.
void serve_load(const ExperimentConfig& config, const engine::EngineConfig& engine_config,
                const Load& load, Execution& execution, engine::QueueOrder& order,
                engine::RetentionPolicy& retention, Recorder& recorder, const RunHooks& hooks) {
  engine::Clock& clock = execution.clock();
  engine::Engine engine(engine_config, clock, execution.backend(), order, retention, recorder,
                        execution.copier());
  const TokenUse use = config.backend == "sim" ? TokenUse::counted : TokenUse::read;
  Client client(load.workload, load.arrivals, config.workload.arrivals.most_live,
                engine_config.kv.block_size, use, engine);
  if (config.cost_model == "measured")
    client.set_latency(engine::from_seconds(config.gpu.measured->request_ms * 1e-3));
  serve(client, engine, clock, hooks);
}

void add_cost_of(const policies::PluginUse& use, sweep::CellResult& result) {
  result.figures.push_back({"plugin_calls", static_cast<double>(use.calls), ""});
  result.figures.push_back({"plugin_s", engine::to_seconds(use.time), "s", true});
}

}  // namespace

Load WorkloadCache::load(const WorkloadConfig& config, int max_model_len) {
  std::optional<std::vector<Nanos>> arrivals;
  const ArrivalConfig& arrival = config.arrivals;
  if (arrival.window_s) {
    arrivals =
        workload::poisson_arrivals_in_window(arrival.rate_per_s, arrival.seed, *arrival.window_s);
    if (arrivals->empty()) throw InputError("workload.window_s: no job arrives within the window");
  }
  std::optional<int> jobs;
  if (arrivals) jobs = static_cast<int>(arrivals->size());
  const std::string key = config.content_key + (jobs ? std::to_string(*jobs) : "") + '/' +
                          std::to_string(config.vocabulary);
  if (!last_ || last_->key != key) {
    last_.reset();  // never two workloads in memory
    GeneratedWorkload made = std::visit(WorkloadGenerator{jobs, config.vocabulary}, config.content);
    if (config.vocabulary > 0) fold_tokens(made.workload, config.vocabulary);
    last_ = std::make_unique<Content>(Content{
        key, std::move(made.workload), std::move(made.curation), std::move(made.arrivals_s)});
  }
  if (last_->fits != max_model_len) check_lengths(last_->workload, max_model_len);
  last_->fits = max_model_len;
  if (arrival.kind == ArrivalConfig::Kind::recorded)
    arrivals = recorded_arrivals(last_->recorded_arrivals_s, last_->workload.source);
  if (!arrivals && (last_->arrivals.empty() || last_->arrival != arrival)) {
    last_->arrivals = arrivals_for(arrival, static_cast<std::size_t>(last_->workload.programs()));
    last_->arrival = arrival;
  }
  if (!arrivals) arrivals = last_->arrivals;
  return {last_->workload, *std::move(arrivals), last_->curation};
}

const Demand& WorkloadCache::demand() {
  if (!last_->demand) last_->demand = demand_of(last_->workload);
  return *last_->demand;
}

namespace {

std::vector<sweep::Note> notes_of(const ExperimentConfig& config, const Load& load) {
  return {{"policy", config.policy_name},
          {"workload", load.workload.source},
          {"tokenizer", load.workload.tokenizer}};
}

/// Says which recorded jobs were left out, and what their converter assumed.
void add_origin(const Load& load, sweep::CellResult& result) {
  if (!load.curation.empty()) result.notes.push_back({"curation", load.curation});
  if (!load.workload.assumed.empty()) result.notes.push_back({"assumed", load.workload.assumed});
}

/// A cell of backend server. After a failure the server is not used again.
sweep::CellResult measure_server(const ExperimentConfig& config, const Load& load,
                                 Executor& executor, const RunHooks& hooks) {
  try {
    sweep::CellResult result = run_server_cell(config, load, executor.serve(config, hooks), hooks);
    const auto notes = notes_of(config, load);
    result.notes.insert(result.notes.begin(), notes.begin(), notes.end());
    add_origin(load, result);
    return result;
  } catch (const server::StartAbandoned&) {
    executor.end_server();
    throw CellAbandoned();
  } catch (const server::WrongServer& error) {
    executor.end_server();
    throw WrongServer(error.what());
  } catch (...) {
    executor.end_server();
    throw;
  }
}

policies::PolicyConfig policy_of(const ExperimentConfig& config, const workload::Workload& workload,
                                 int num_blocks, policies::PluginUse& plugin_use) {
  policies::PolicyConfig policy = with_knowledge(config, workload);
  policy.admission.pool_tokens = num_blocks * config.engine.kv.block_size;
  policy.plugin.num_blocks = num_blocks;
  policy.plugin.use = &plugin_use;
  return policies::with_plugin(std::move(policy));
}

}  // namespace

sweep::CellResult run_experiment(const ExperimentConfig& config, WorkloadCache& workloads,
                                 Executor& executor, const RunHooks& hooks) {
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  if (config.backend == "server") return measure_server(config, load, executor, hooks);
  const std::size_t resident_before = resident_bytes();
  const auto execution = executor.prepare(config);
  engine::EngineConfig engine_config = config.engine;
  engine_config.kv.num_blocks = execution->num_blocks();
  policies::PluginUse plugin_use;
  const int usable_blocks = execution->num_blocks() - 1;  // without the null block
  const auto policy = policy_of(config, load.workload, usable_blocks, plugin_use);
  const auto order = policies::make_order(policy);
  const auto retention = policies::make_retention(policy);
  const auto prefetch = policies::make_prefetch(policy);
  const auto host_eviction = policies::make_host_eviction(policy, *order);
  engine_config.tier.prefetch = prefetch.get();
  engine_config.tier.eviction = host_eviction.get();
  engine_config.tier.disk = execution->disk();
  engine_config.eviction = policies::make_eviction(policy);
  engine_config.tier.transfers.block_load_time = block_load_time(config);
  Recorder recorder(load.workload, config.bytes_per_block, engine_config.kv.block_size,
                    policies::declared_reasons(), hooks.record);
  if (!execution->make_ready(hooks.stop)) throw CellAbandoned();
  serve_load(config, engine_config, load, *execution, *order, *retention, recorder, hooks);

  sweep::CellResult result = recorder.take_tables();
  result.notes = notes_of(config, load);
  execution->describe(result);
  return_much(resident_before);
  auto figures = figures_of(result, {engine_config.kv.block_size, config.bytes_per_block});
  result.figures.insert(result.figures.begin(), figures.begin(), figures.end());
  if (!policy.plugin.path.empty()) add_cost_of(plugin_use, result);
  result.notes.push_back({"block_size", std::to_string(engine_config.kv.block_size)});
  if (!config.changed_pool.empty()) result.notes.push_back({"pool", config.changed_pool});
  add_origin(load, result);
  return result;
}

sweep::CellResult run_experiment(const ExperimentConfig& config, WorkloadCache& workloads,
                                 const RunHooks& hooks) {
  Executor executor;
  return run_experiment(config, workloads, executor, hooks);
}

Demand demand_of(const workload::Workload& workload) {
  Demand sum;
  for (const workload::Job& job : workload.jobs) {
    int before = 0;
    for (std::size_t i = 0; i < job.turns.size(); ++i) {
      const workload::Turn& turn = job.turns[i];
      const int computed = turn.reused_tokens < 0 ? before : workload::computed_before(job, i);
      sum.prompt += turn.prompt_tokens;
      sum.new_tokens += turn.prompt_tokens - computed;
      sum.output += turn.output_tokens;
      sum.gaps_s += engine::to_seconds(turn.gap);
      sum.turns += 1;
      before = turn.prompt_tokens + turn.output_tokens;
    }
  }
  sum.context = sum.prompt / std::max(1.0, sum.turns);
  return sum;
}

}  // namespace worker
