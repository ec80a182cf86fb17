#pragma once
#include <vector>

#include "sweeps/tables/result.hpp"
#include "sweeps/tables/schema.hpp"
#include "workers/engine/base/request.hpp"
#include "workers/record/growing_table.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// /jobs and /turns while a cell runs. Rows name a job by its program, and a turn by its number
/// there.
class TurnTables {
 public:
  explicit TurnTables(const workload::Workload& workload) : workload_(workload) {
    for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
      if (workload.root_of(job) == job) {
        sweep::JobRow& row = jobs_.emplace_back();
        row.job = static_cast<std::int32_t>(jobs_.size() - 1);
        row.id = workload.jobs[job].id;
        row.jct_turns_s = row.queue_s = 0;
      }
      jobs_.back().n_turns += static_cast<std::int32_t>(workload.jobs[job].turns.size());
    }
  }

  std::int32_t program_of(engine::JobId job) const {
    return static_cast<std::int32_t>(workload_.program_of(engine::index(job)));
  }
  std::int32_t number_of(engine::JobId job, int turn) const {
    return workload_.number_of(engine::index(job), turn);
  }
  /// A row with what client and workload know of a turn; its other columns are not observed.
  sweep::TurnRow row_of(const engine::RequestSpec& spec) const {
    const std::uint32_t at = engine::index(spec.job);
    sweep::TurnRow row;
    row.job = program_of(spec.job);
    row.turn = number_of(spec.job, spec.turn);
    if (!workload_.agents.empty()) {
      row.agent = workload_.agents[at].agent;
      row.parent = workload_.agents[at].parent;
    }
    row.t_arrive_s = engine::to_seconds(spec.arrival);
    row.last = spec.last_turn;
    const workload::Turn& turn = workload_.jobs[at].turns[static_cast<std::size_t>(spec.turn)];
    row.gap_s = spec.last_turn ? 0 : engine::to_seconds(turn.gap);
    if (spec.tool != engine::ToolId::none)
      row.tool = workload_.tools[static_cast<std::size_t>(spec.tool)];
    return row;
  }
  /// Adds a turn that has ended, and its part of the job. `tokens_at_first`: of its output, with
  /// its first token.
  void add(const engine::RequestSpec& spec, sweep::TurnRow row, double tokens_at_first = 1) {
    row.ttft_s = row.t_first_token_s - row.t_arrive_s;
    if (row.output_tok > tokens_at_first)
      row.tpot_s = (row.t_finish_s - row.t_first_token_s) / (row.output_tok - tokens_at_first);
    sweep::JobRow& job = jobs_[static_cast<std::size_t>(row.job)];
    if (!spec.subagent_of && spec.turn == 0) {
      job.t_arrive_s = row.t_arrive_s;
      job.t_first_token_s = row.t_first_token_s;
    }
    job.jct_turns_s += row.t_finish_s - row.t_arrive_s;
    job.queue_s += row.queue_s;
    job.preemptions += row.preemptions;
    if (!spec.subagent_of && spec.last_turn) {
      job.t_finish_s = row.t_finish_s;
      job.jct_wall_s = job.t_finish_s - job.t_arrive_s;
    }
    turns_.add(std::move(row));
  }
  void take(sweep::CellResult& result) && {
    result.jobs = sweep::to_table<sweep::JobRow>(jobs_);
    result.turns = std::move(turns_).take();
  }

 private:
  const workload::Workload& workload_;
  std::vector<sweep::JobRow> jobs_;  // by program
  GrowingTable<sweep::TurnRow> turns_;
};

}  // namespace worker
