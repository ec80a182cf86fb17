#include "workers/record/client_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workers/record/figures.hpp"
#include "workers/workload/workload_report.hpp"

namespace worker {
namespace {

using engine::index;
using engine::to_seconds;

template <class Member>
std::vector<double> values_of(const std::vector<sweep::TurnRow>& turns, Member member) {
  std::vector<double> values;
  for (const sweep::TurnRow& row : turns) values.push_back(static_cast<double>(row.*member));
  return values;
}

template <class Member>
double sum_of(const std::vector<sweep::TurnRow>& turns, Member member) {
  const std::vector<double> values = values_of(turns, member);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// NaN where nothing was seen: an answer that comes in one event has no time per token.
void add_seen(Figures& figures, const std::string& name, const std::vector<double>& values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isnan(value); }))
    return figures.add_distribution(name, values);
  for (const char* part : {"_mean_s", "_p50_s", "_p99_s", "_max_s"})
    figures.add(name + part, sweep::kNotObserved, "s");
}

void add_jobs(Figures& figures, const std::vector<sweep::JobRow>& jobs,
              const std::vector<sweep::TurnRow>& turns) {
  std::vector<double> wall, of_turns, first_token;
  double makespan = 0;
  for (const sweep::JobRow& row : jobs) {
    wall.push_back(row.jct_wall_s);
    of_turns.push_back(row.jct_turns_s);
    first_token.push_back(row.t_first_token_s - row.t_arrive_s);
    makespan = std::max(makespan, row.t_finish_s);
  }
  figures.add_distribution("jct_wall", wall);
  figures.add_distribution("jct_turns", of_turns);
  figures.add_distribution("ttft", values_of(turns, &sweep::TurnRow::ttft_s));
  add_seen(figures, "tpot", values_of(turns, &sweep::TurnRow::tpot_s));
  figures.add_distribution("first_token", first_token);
  const double prompt = sum_of(turns, &sweep::TurnRow::prompt_tok),
               output = sum_of(turns, &sweep::TurnRow::output_tok);
  figures.add("makespan_s", makespan, "s");
  figures.add("jobs", static_cast<double>(jobs.size()), "");
  figures.add("turns", static_cast<double>(turns.size()), "");
  figures.add("output_tok_per_s", makespan > 0 ? output / makespan : sweep::kNotObserved, "tok/s");
  figures.add("total_tok_s", makespan > 0 ? (prompt + output) / makespan : sweep::kNotObserved,
              "tok/s");
}

}  // namespace

ClientRecorder::ClientRecorder(const workload::Workload& workload) : workload_(workload) {
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
    if (workload.root_of(job) == job) {
      sweep::JobRow& row = jobs_.emplace_back();
      row.job = static_cast<std::int32_t>(jobs_.size() - 1);
      row.id = workload.jobs[job].id;
      row.jct_turns_s = 0;
    }
    jobs_.back().n_turns += static_cast<std::int32_t>(workload.jobs[job].turns.size());
  }
}

void ClientRecorder::add(const SeenTurn& seen) {
  const engine::RequestSpec& spec = seen.spec;
  const std::uint32_t at = index(spec.job);
  const workload::Turn& turn = workload_.jobs[at].turns[static_cast<std::size_t>(spec.turn)];
  sweep::TurnRow& row = turns_.emplace_back();
  row.job = static_cast<std::int32_t>(workload_.program_of(at));
  row.turn = workload_.number_of(at, spec.turn);
  if (!workload_.agents.empty()) {
    row.agent = workload_.agents[at].agent;
    row.parent = workload_.agents[at].parent;
  }
  row.t_arrive_s = to_seconds(spec.arrival);
  row.late_s = to_seconds(seen.sent - spec.arrival);
  row.t_first_token_s = to_seconds(seen.first_token);
  row.t_finish_s = to_seconds(seen.last_token);
  row.prompt_tok = seen.prompt_tokens;
  row.output_tok = seen.output_tokens;
  row.cached_host_tok = seen.host_tokens.value_or(0);
  row.cached_gpu_tok = seen.cached_tokens.value_or(0) - row.cached_host_tok;
  if (seen.cached_tokens)
    row.recomputed_tok = std::max(0, spec.computed_by_earlier_turns - *seen.cached_tokens);
  row.preemptions = seen.preemptions.value_or(0);
  saw_cached_ = saw_cached_ && seen.cached_tokens.has_value();
  saw_host_ = saw_host_ && seen.host_tokens.has_value();
  saw_preemptions_ = saw_preemptions_ && seen.preemptions.has_value();
  row.last = spec.last_turn;
  row.gap_s = spec.last_turn ? 0 : to_seconds(turn.gap);
  row.ttft_s = row.t_first_token_s - row.t_arrive_s;
  if (row.output_tok > seen.tokens_at_first)
    row.tpot_s = (row.t_finish_s - row.t_first_token_s) / (row.output_tok - seen.tokens_at_first);
  if (spec.tool != engine::ToolId::none)
    row.tool = workload_.tools[static_cast<std::size_t>(spec.tool)];

  sweep::JobRow& job = jobs_[workload_.program_of(at)];
  if (!spec.subagent_of && spec.turn == 0) {
    job.t_arrive_s = row.t_arrive_s;
    job.t_first_token_s = row.t_first_token_s;
  }
  job.jct_turns_s += row.t_finish_s - row.t_arrive_s;
  job.preemptions += row.preemptions;
  if (spec.subagent_of || !spec.last_turn) return;
  job.t_finish_s = row.t_finish_s;
  job.jct_wall_s = job.t_finish_s - job.t_arrive_s;
}

sweep::CellResult ClientRecorder::take(std::span<const double> token_gaps_s,
                                       std::vector<sweep::TelemetryRow> samples) {
  constexpr double kNone = sweep::kNotObserved;
  Figures figures;
  add_jobs(figures, jobs_, turns_);
  const double prompt = sum_of(turns_, &sweep::TurnRow::prompt_tok),
               on_gpu = sum_of(turns_, &sweep::TurnRow::cached_gpu_tok),
               on_host = sum_of(turns_, &sweep::TurnRow::cached_host_tok);
  figures.add("prefix_hit_rate", saw_cached_ ? on_gpu / prompt : kNone, "");
  figures.add("host_hit_rate", saw_host_ ? on_host / prompt : kNone, "");
  figures.add("gpu_hit_tok", saw_cached_ ? on_gpu : kNone, "tok");
  figures.add("host_hit_tok", saw_host_ ? on_host : kNone, "tok");
  figures.add("recomputed_tok",
              saw_cached_ ? sum_of(turns_, &sweep::TurnRow::recomputed_tok) : kNone, "tok");
  double preemptions = saw_preemptions_ ? sum_of(turns_, &sweep::TurnRow::preemptions) : kNone;
  double running = kNone;
  for (const sweep::TelemetryRow& row : samples) running = std::fmax(running, row.n_running);
  if (!samples.empty() && std::isnan(preemptions)) preemptions = samples.back().preemptions;
  figures.add("preemptions", preemptions, "");
  figures.add("running_peak", running, "");
  add_seen(figures, "itl", {token_gaps_s.begin(), token_gaps_s.end()});
  figures.add_distribution("client_late", values_of(turns_, &sweep::TurnRow::late_s));

  sweep::CellResult result;
  result.jobs = sweep::to_table<sweep::JobRow>(jobs_);
  result.turns = sweep::to_table<sweep::TurnRow>(turns_);
  result.telemetry = sweep::to_table<sweep::TelemetryRow>(samples);
  result.figures = figures.take();
  return result;
}

}  // namespace worker
