#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
#include "sweeps/text/text.hpp"
#include "workers/cell/estimate.hpp"
#include "workers/workload/trace/read_trace.hpp"
#include "workers/workload/trace/working_set.hpp"
#include "workers/workload/workload_report.hpp"

namespace driver {
namespace {

using analysis::terminal_text;
using worker::ExperimentConfig, worker::WorkloadCache;

std::size_t find_job(const workload::Workload& workload, const std::string& name) {
  const auto by_id = std::ranges::find(workload.jobs, name, &workload::Job::id);
  if (by_id != workload.jobs.end()) return static_cast<std::size_t>(by_id - workload.jobs.begin());
  const auto number = sweep::number_from<std::size_t>(name);
  if (number && *number < workload.jobs.size()) return *number;
  throw engine::InputError("--job must be a job's id or a number from 0 to " +
                           std::to_string(workload.jobs.size() - 1) + ", found \"" + name + '"');
}

/// The experiment's KV pool under the name of its GPU.
workload::KvPool pool_of(const ExperimentConfig& config) {
  const engine::KvConfig& kv = config.engine.kv;
  return {config.gpu.name, static_cast<double>(kv.num_blocks - 1) * kv.block_size};
}

void print_table(const workload::Workload& workload, std::ostream& out) {
  workload::WorkloadStatistics table = workload::statistics_of(workload);
  table.source = terminal_text(table.source);
  table.tokenizer = terminal_text(table.tokenizer);
  for (workload::ToolShare& tool : table.tools) tool.tool = terminal_text(tool.tool);
  workload::print(out, table);
}

/// Whether job order alone keeps a job's KV is decided by the pool and these tokens
/// (docs/studies/order-or-pins.md).
void print_absences(const std::vector<ExperimentConfig>& by_gpu, WorkloadCache& workloads,
                    std::ostream& out) {
  constexpr double kOrderSuffices = 1.6;  // pool over tokens
  worker::Absence absence;
  std::ostringstream lines, head;
  lines << std::fixed;
  for (const ExperimentConfig& config : by_gpu) {
    absence = absence_of(config, workloads);
    lines << std::left << std::setw(16) << config.gpu.name << std::right << std::setw(14)
          << std::setprecision(1) << 1e3 * absence.step_s << std::setw(14) << std::setprecision(0)
          << absence.tokens << std::setw(11) << std::setprecision(2)
          << pool_of(config).tokens / absence.tokens << "x\n";
  }
  if (absence.tokens == 0) return;
  head << std::fixed << std::setprecision(1)
       << "\nTokens computed for others while a job is away, at most: it decodes an answer (mean "
       << std::llround(absence.answer) << " tokens) and the gap to its next turn passes (mean "
       << absence.gap_s << " s), in steps of "
       << by_gpu.front().engine.scheduler.max_num_batched_tokens
       << " prompt tokens, as in the first cell\n\n";
  out << head.str() << "gpu                  step (ms)        tokens       pool\n"
      << lines.str() << "Step times are MODELLED (" << by_gpu.front().cost_model
      << "). Where the pool does not hold the jobs in progress, but " << kOrderSuffices
      << "\ntimes these tokens, job order alone is expected to bring more than half of what"
         " continuum gains\n(a rule fitted with sim.cost_model = \"measured\":"
         " docs/studies/order-or-pins.md).\n";
}

/// Prints what the trace at `path` was made of, and what it demands.
void describe_trace(const std::string& path, std::ostream& out) {
  const auto set = std::make_shared<workload::TraceSet>(workload::read_trace(path));
  for (const std::string& note : set->notes) out << terminal_text(note) << '\n';
  const workload::PlayedTrace played = workload::play(set, {}, 0);
  out << set->sessions.size() << " jobs, " << played.workload.jobs.size() << " agents\n\n";
  print_table(played.workload, out);
}

/// Prints the dataset table of the experiment's workload, its working set beside the pools of
/// `by_gpu`, which differ from it in the GPU alone, and what each of those computes while a job is
/// away.
void describe_jobs(const ExperimentConfig& config, const std::vector<ExperimentConfig>& by_gpu,
                   std::ostream& out) {
  WorkloadCache workloads;
  const worker::Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  print_table(load.workload, out);
  if (!load.workload.assumed.empty()) out << '\n' << terminal_text(load.workload.assumed) << '\n';
  if (!load.curation.empty()) out << '\n' << load.curation << '\n';
  out << "\nKV of the jobs in progress for " << config.model.name
      << ", were every turn served at once, 25 ms a token of its answer: most at a time\n\n";
  constexpr engine::Nanos kTokenTime = std::chrono::milliseconds(25);
  constexpr int kParts = 16;
  std::vector<workload::KvPool> pools;
  for (const ExperimentConfig& each : by_gpu) pools.push_back(pool_of(each));
  workload::print(out,
                  workload::working_set(load.workload, load.arrivals,
                                        config.workload.arrivals.most_live, kTokenTime, kParts),
                  pools);
  print_absences(by_gpu, workloads, out);
}

/// Prints the token budget of a turn of a job (id, or number from 0).
void describe_turn(const ExperimentConfig& config, const std::string& job, int turn,
                   std::ostream& out) {
  WorkloadCache workloads;
  const worker::Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  const workload::BudgetSettings settings{config.engine.kv.block_size,
                                          config.engine.scheduler.max_num_batched_tokens};
  const std::size_t number = find_job(load.workload, job);
  workload::Job found = load.workload.jobs[number];
  if (load.workload.prompts && turn >= 0 && turn < static_cast<int>(found.turns.size()))
    found.segments = load.workload.prompts->segments(static_cast<std::uint32_t>(number), turn);
  workload::TokenBudget budget = workload::token_budget(found, turn, settings);
  budget.job = terminal_text(budget.job);
  workload::print(out, budget);
}

/// The cell on each GPU that its model fits, the smallest pool first.
std::vector<ExperimentConfig> on_each_gpu(const PlannedCell& planned, const Options& options) {
  worker::Profiles profiles(options.profiles);
  std::vector<ExperimentConfig> configs;
  for (const std::string& gpu : worker::profile_names(options.profiles / "gpus")) {
    sweep::ParamMap params = planned.cell.params;
    params["gpu"].value = gpu;
    try {
      configs.push_back(worker::bind(params, "sim", planned.cell.seed, profiles).config);
    } catch (const worker::Infeasible&) {
    } catch (const sweep::SpecError&) {  // no costs for this model on this GPU
    }
  }
  std::ranges::stable_sort(configs, {},
                           [](const ExperimentConfig& config) { return pool_of(config).tokens; });
  return configs;
}

}  // namespace

int describe_workload(const Options& options) {
  if (options.check) {
    describe_trace(options.arguments.front(), std::cout);
    return kOk;
  }
  Options simulated = options;
  if (!simulated.backend) simulated.backend = "sim";  // only the workload is looked at
  const Plan plan = make_plan(options.arguments.front(), simulated);
  const PlannedCell& planned = first_to_run(plan);
  const ExperimentConfig config = planned.config();
  if (options.job)
    describe_turn(config, *options.job, options.turn - 1, std::cout);
  else
    describe_jobs(config, on_each_gpu(planned, options), std::cout);
  return kOk;
}

}  // namespace driver
