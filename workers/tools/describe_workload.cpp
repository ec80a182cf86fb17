#include "workers/tools/describe_workload.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "sweeps/files/text.hpp"
#include "workers/cell/estimate.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/read_trace.hpp"
#include "workers/workload/workload_report.hpp"

namespace worker {
namespace {

std::size_t find_job(const workload::Workload& workload, const std::string& name) {
  const auto by_id = std::ranges::find(workload.jobs, name, &workload::Job::id);
  if (by_id != workload.jobs.end()) return static_cast<std::size_t>(by_id - workload.jobs.begin());
  const auto number = sweep::number_from<std::size_t>(name);
  if (number && *number < workload.jobs.size()) return *number;
  throw engine::InputError("--job must be a job's id or a number from 0 to " +
                           std::to_string(workload.jobs.size() - 1) + ", found \"" + name + '"');
}

void print_table(const workload::Workload& workload, ShownText shown, std::ostream& out) {
  workload::WorkloadStatistics table = workload::statistics_of(workload);
  table.source = shown(table.source);
  table.tokenizer = shown(table.tokenizer);
  for (workload::ToolShare& tool : table.tools) tool.tool = shown(tool.tool);
  workload::print(out, table);
}

/// Whether job order alone keeps a job's KV is decided by the pool and these tokens
/// (docs/studies/order-or-pins.md).
void print_absences(const std::vector<ExperimentConfig>& by_gpu, WorkloadCache& workloads,
                    std::ostream& out) {
  constexpr double kOrderSuffices = 1.6;  // pool over tokens
  Absence absence;
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

}  // namespace

void describe_trace(const std::string& path, ShownText shown, std::ostream& out) {
  const auto set = std::make_shared<workload::TraceSet>(workload::read_trace(path));
  for (const std::string& note : set->notes) out << shown(note) << '\n';
  const workload::PlayedTrace played = workload::play(set, {}, 0);
  out << set->sessions.size() << " jobs, " << played.workload.jobs.size() << " agents\n\n";
  print_table(played.workload, shown, out);
}

void describe_workload(const ExperimentConfig& config, const std::vector<ExperimentConfig>& by_gpu,
                       ShownText shown, std::ostream& out) {
  WorkloadCache workloads;
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  print_table(load.workload, shown, out);
  if (!load.workload.assumed.empty()) out << '\n' << shown(load.workload.assumed) << '\n';
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

void describe_turn(const ExperimentConfig& config, const std::string& job, int turn,
                   ShownText shown, std::ostream& out) {
  WorkloadCache workloads;
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  const workload::BudgetSettings settings{config.engine.kv.block_size,
                                          config.engine.scheduler.max_num_batched_tokens};
  const std::size_t number = find_job(load.workload, job);
  workload::Job found = load.workload.jobs[number];
  if (load.workload.prompts && turn >= 0 && turn < static_cast<int>(found.turns.size()))
    found.segments = load.workload.prompts->segments(static_cast<std::uint32_t>(number), turn);
  workload::TokenBudget budget = workload::token_budget(found, turn, settings);
  budget.job = shown(budget.job);
  workload::print(out, budget);
}

workload::KvPool pool_of(const ExperimentConfig& config) {
  const engine::KvConfig& kv = config.engine.kv;
  return {config.gpu.name, static_cast<double>(kv.num_blocks - 1) * kv.block_size};
}

}  // namespace worker
