#include "workers/tools/describe_workload.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "workers/cell/estimate.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/trace/read_trace.hpp"
#include "workers/workload/trace/trace_report.hpp"
#include "workers/workload/trace/write_trace.hpp"
#include "workers/workload/workload_report.hpp"

namespace worker {
namespace {

const workload::Job& find_job(const workload::Workload& workload, const std::string& name) {
  const auto by_id = std::ranges::find(workload.jobs, name, &workload::Job::id);
  if (by_id != workload.jobs.end()) return *by_id;
  std::size_t number = workload.jobs.size();
  const auto end = name.data() + name.size();
  const bool is_number = std::from_chars(name.data(), end, number).ptr == end;
  if (is_number && number < workload.jobs.size()) return workload.jobs[number];
  throw engine::InputError("--job must be a job's id or a number from 0 to " +
                           std::to_string(workload.jobs.size() - 1) + ", found \"" + name + '"');
}

/// The trace as it is in the file, beside the cell's pool.
void describe_whole_trace(const ExperimentConfig& config, const RecordedTrace& trace,
                          ShownText shown, std::ostream& out) {
  workload::TraceSet set = workload::read_trace(trace.path, trace.format, trace.tokenizer_path);
  set.source = shown(set.source);
  const int block_size = config.engine.kv.block_size;
  out << "\nThe whole trace, before sessions are left out or cut:\n\n";
  workload::describe_trace(out, set, {block_size, 4 * block_size}, {pool_of(config)});
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

constexpr const char* kMessages = "messages";

void write_chats(const ExperimentConfig& config, const RecordedTrace* trace, std::ostream& out) {
  if (trace != nullptr) return workload::write_messages(trace->path, trace->format, out);
  if (const auto* chats = std::get_if<RecordedTrajectories>(&config.workload.content))
    return workload::write_messages(chats->reading.path, kMessages, out);
  throw engine::InputError(
      "--to messages writes the texts of a file, and the sweep's workload is of another kind; "
      "allowed: --to mooncake or weka");
}

}  // namespace

void describe_trace(const std::string& path, ShownText shown, std::ostream& out) {
  workload::TraceSet set = workload::read_trace(path);
  set.source = shown(set.source);
  workload::describe_trace(out, set, {16, 64}, {});
}

void write_workload(const ExperimentConfig& config, const std::string& format, std::ostream& out) {
  const auto* trace = std::get_if<RecordedTrace>(&config.workload.content);
  if (format == kMessages) return write_chats(config, trace, out);
  if (trace != nullptr)
    return workload::write_trace(
        workload::read_trace(trace->path, trace->format, trace->tokenizer_path), format, out);
  WorkloadCache workloads;
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  workload::TraceSet set = workload::trace_of(load.workload);
  for (std::size_t i = 0; i < set.sessions.size(); ++i)
    set.sessions[i].arrival_s = engine::to_seconds(load.arrivals[i]);
  workload::write_trace(set, format, out);
}

void write_trace(const std::string& path, const std::string& format, std::ostream& out) {
  if (format == kMessages) return workload::write_messages(path, "auto", out);
  workload::write_trace(workload::read_trace(path), format, out);
}

void describe_workload(const ExperimentConfig& config, const std::vector<ExperimentConfig>& by_gpu,
                       ShownText shown, std::ostream& out) {
  WorkloadCache workloads;
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  workload::DatasetTable table = workload::dataset_table(load.workload);
  table.source = shown(table.source);
  table.tokenizer = shown(table.tokenizer);
  for (workload::ToolShare& tool : table.tools) tool.tool = shown(tool.tool);
  workload::print(out, table);
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
  if (const auto* trace = std::get_if<RecordedTrace>(&config.workload.content))
    describe_whole_trace(config, *trace, shown, out);
}

void describe_turn(const ExperimentConfig& config, const std::string& job, int turn,
                   ShownText shown, std::ostream& out) {
  WorkloadCache workloads;
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  const workload::BudgetSettings settings{config.engine.kv.block_size,
                                          config.engine.scheduler.max_num_batched_tokens};
  workload::TokenBudget budget =
      workload::token_budget(find_job(load.workload, job), turn, settings);
  budget.job = shown(budget.job);
  workload::print(out, budget);
}

workload::KvPool pool_of(const ExperimentConfig& config) {
  const engine::KvConfig& kv = config.engine.kv;
  return {config.gpu.name, static_cast<double>(kv.num_blocks - 1) * kv.block_size};
}

}  // namespace worker
