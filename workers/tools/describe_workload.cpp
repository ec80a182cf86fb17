#include "workers/tools/describe_workload.hpp"

#include <algorithm>
#include <charconv>

#include "workers/engine/base/errors.hpp"
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

}  // namespace

void describe_workload(const ExperimentConfig& config, const std::optional<std::string>& job,
                       int turn, ShownText shown, std::ostream& out) {
  WorkloadCache workloads;
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  if (!job) {
    workload::DatasetTable table = workload::dataset_table(load.workload);
    table.source = shown(table.source);
    table.tokenizer = shown(table.tokenizer);
    for (workload::ToolShare& tool : table.tools) tool.tool = shown(tool.tool);
    workload::print(out, table);
    return;
  }
  const workload::BudgetSettings settings{config.engine.kv.block_size,
                                          config.engine.scheduler.max_num_batched_tokens};
  workload::TokenBudget budget =
      workload::token_budget(find_job(load.workload, *job), turn, settings);
  budget.job = shown(budget.job);
  workload::print(out, budget);
}

}  // namespace worker
