#include "workers/record/turn_tables.hpp"

namespace worker {

using engine::index;
using engine::to_seconds;

TurnTables::TurnTables(const workload::Workload& workload) : workload_(workload) {
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

sweep::TurnRow TurnTables::row_of(const engine::RequestSpec& spec) const {
  const std::uint32_t at = index(spec.job);
  sweep::TurnRow row;
  row.job = program_of(spec.job);
  row.turn = number_of(spec.job, spec.turn);
  if (!workload_.agents.empty()) {
    row.agent = workload_.agents[at].agent;
    row.parent = workload_.agents[at].parent;
  }
  row.t_arrive_s = to_seconds(spec.arrival);
  row.last = spec.last_turn;
  const workload::Turn& turn = workload_.jobs[at].turns[static_cast<std::size_t>(spec.turn)];
  row.gap_s = spec.last_turn ? 0 : to_seconds(turn.gap);
  if (spec.tool != engine::ToolId::none)
    row.tool = workload_.tools[static_cast<std::size_t>(spec.tool)];
  return row;
}

void TurnTables::add(const engine::RequestSpec& spec, sweep::TurnRow row, double tokens_at_first) {
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

void TurnTables::take(sweep::CellResult& result) && {
  result.jobs = sweep::to_table<sweep::JobRow>(jobs_);
  result.turns = std::move(turns_).take();
}

}  // namespace worker
