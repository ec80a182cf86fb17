#include "workers/recorder.hpp"

#include <algorithm>

namespace worker {
namespace {

using engine::index;
using engine::to_seconds;

sweep::StopReason stop_reason(engine::StopReason reason) {
  using To = sweep::StopReason;
  switch (reason) {
    case engine::StopReason::none:
      return To::none;
    case engine::StopReason::token_budget:
      return To::tok_budget;
    case engine::StopReason::kv_insufficient:
      return To::kv_insufficient;
    case engine::StopReason::max_seqs:
      return To::max_seqs;
    case engine::StopReason::sequence_reserved:
      return To::isl_reserve;
    case engine::StopReason::chunking_off:
      return To::chunk_off;
    case engine::StopReason::preempted:
      return To::preempted;
  }
  return To::none;
}

sweep::KvEventKind event_kind(engine::KvEventKind kind) {
  using To = sweep::KvEventKind;
  switch (kind) {
    case engine::KvEventKind::pin:
      return To::pin;
    case engine::KvEventKind::unpin:
      return To::unpin;
    case engine::KvEventKind::keep_declined:
      return To::keep_declined;
    case engine::KvEventKind::evict:
      return To::evict_gpu;
    case engine::KvEventKind::preempt:
      return To::preempt;
    case engine::KvEventKind::store:
      return To::store;
    case engine::KvEventKind::load:
      return To::load;
    case engine::KvEventKind::evict_host:
      return To::evict_host;
    case engine::KvEventKind::drop:
      return To::drop;
  }
  return To::pin;
}

sweep::KvEventReason event_reason(engine::KvReason reason) {
  using To = sweep::KvEventReason;
  switch (reason) {
    case engine::KvReason::none:
      return To::none;
    case engine::KvReason::known_tool:
      return To::known_tool;
    case engine::KvReason::unseen_tool:
      return To::unseen_tool;
    case engine::KvReason::slow_tool:
      return To::slow_tool;
    case engine::KvReason::no_tool:
      return To::no_tool;
    case engine::KvReason::last_turn:
      return To::last_turn;
    case engine::KvReason::ttl:
      return To::ttl;
    case engine::KvReason::handoff:
      return To::handoff;
    case engine::KvReason::replaced:
      return To::replaced;
    case engine::KvReason::job_end:
      return To::job_end;
    case engine::KvReason::pressure_run:
      return To::pressure_run;
    case engine::KvReason::pressure_admit:
      return To::pressure_admit;
    case engine::KvReason::out_of_blocks:
      return To::out_of_blocks;
    case engine::KvReason::cold_start:
      return To::cold_start;
    case engine::KvReason::utility:
      return To::utility;
    case engine::KvReason::rent:
      return To::rent;
    case engine::KvReason::write_through:
      return To::write_through;
    case engine::KvReason::tail:
      return To::write_through;
    case engine::KvReason::swapped_out:
      return To::out_of_blocks;
    case engine::KvReason::before_eviction:
      return To::before_eviction;
    case engine::KvReason::demand:
      return To::demand;
    case engine::KvReason::load_failed:
      return To::cancelled;
    case engine::KvReason::read:
    case engine::KvReason::unread:
      return To::capacity;
  }
  return To::none;
}

sweep::SchedKind sched_kind(engine::ScheduleKind kind) {
  switch (kind) {
    case engine::ScheduleKind::fresh:
      return sweep::SchedKind::fresh;
    case engine::ScheduleKind::resumed:
      return sweep::SchedKind::resumed;
    case engine::ScheduleKind::running:
      return sweep::SchedKind::running;
  }
  return sweep::SchedKind::running;
}

std::int32_t as_int(engine::JobId job) { return static_cast<std::int32_t>(index(job)); }

}  // namespace

Recorder::Recorder(const workload::Workload& workload, std::int64_t bytes_per_block, int block_size)
    : workload_(workload), bytes_per_block_(bytes_per_block), block_size_(block_size) {
  for (const workload::Job& job : workload.jobs) {
    sweep::JobRow& row = jobs_.emplace_back();
    row.job = static_cast<std::int32_t>(jobs_.size() - 1);
    row.id = job.id;
    row.n_turns = static_cast<std::int32_t>(job.turns.size());
    row.jct_turns_s = row.queue_s = 0;
  }
}

void Recorder::on_step(const engine::StepTrace& trace) {
  record_step(trace);
  record_schedule(*trace.plan);
  record_kv_events(trace);
  for (const engine::Request* request : trace.finished)
    record_turn(*request, to_seconds(trace.end));
}

void Recorder::record_step(const engine::StepTrace& trace) {
  sweep::StepRow row;
  row.step = static_cast<std::int64_t>(trace.plan->step);
  row.t_s = to_seconds(trace.start);
  row.dur_s = to_seconds(trace.end - trace.start);
  row.n_tok = trace.plan->total_tokens;
  for (const engine::ScheduledRequest& share : trace.plan->scheduled) {
    row.max_tok = std::max(row.max_tok, share.num_tokens);
    row.n_decode += share.decode ? 1 : 0;
    const int in_last_block = (share.computed_before + share.num_tokens) % block_size_;
    row.kv_waste_tok += in_last_block > 0 ? block_size_ - in_last_block : 0;
  }
  row.n_prefill_tok = row.n_tok - row.n_decode;
  row.n_running = trace.num_running;
  row.n_waiting = trace.num_waiting;
  row.n_preempted = static_cast<std::int32_t>(trace.plan->preempted.size());
  row.blk_used = trace.blocks.allocated + trace.blocks.copying;
  row.blk_pinned = trace.blocks.pinned;
  row.blk_cached = trace.blocks.cached;
  row.blk_free = trace.blocks.empty;
  row.pinned_jobs = trace.num_pins;
  row.h2d_bytes = trace.transfers.loaded_blocks * bytes_per_block_;
  row.d2h_bytes = trace.transfers.stored_blocks * bytes_per_block_;
  row.stop_reason = stop_reason(trace.plan->stop);
  steps_.add(row);
}

void Recorder::record_schedule(const engine::StepPlan& plan) {
  const auto step = static_cast<std::int64_t>(plan.step);
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const engine::RequestSpec& spec = share.request->spec;
    sched_.add({step, as_int(spec.job), spec.turn, sched_kind(share.kind), share.num_tokens,
                share.computed_before});
  }
  for (const engine::Request* victim : plan.preempted) {
    sched_.add(
        {step, as_int(victim->spec.job), victim->spec.turn, sweep::SchedKind::preempted, 0, 0});
  }
}

void Recorder::record_kv_events(const engine::StepTrace& trace) {
  for (const engine::KvEvent& event : trace.kv_events) {
    sweep::KvEventRow row;
    row.step = static_cast<std::int64_t>(trace.plan->step);
    row.t_s = to_seconds(event.at);
    row.job = as_int(event.job);
    row.turn = event.turn;
    row.kind = event_kind(event.kind);
    row.reason = event_reason(event.reason);
    row.blocks = event.blocks;
    row.bytes = event.blocks * bytes_per_block_;
    row.by_job = as_int(event.by_job);
    row.by_turn = event.by_turn;
    if (event.deadline >= engine::Nanos{0}) row.deadline_s = to_seconds(event.deadline);
    kv_events_.add(row);
  }
}

void Recorder::record_turn(const engine::Request& request, double finish_s) {
  const engine::RequestSpec& spec = request.spec;
  sweep::TurnRow row;
  row.job = as_int(spec.job);
  row.turn = spec.turn;
  row.t_arrive_s = to_seconds(spec.arrival);
  row.t_admit_s = to_seconds(request.admitted);
  row.t_first_token_s = to_seconds(request.first_token);
  row.t_finish_s = finish_s;
  row.prompt_tok = request.num_prompt();
  row.output_tok = request.num_outputs();
  row.cached_gpu_tok = request.prefix_hit_tokens;
  row.cached_host_tok = request.host_hit_tokens;
  row.recomputed_tok = request.recomputed_tokens;
  row.preemptions = request.num_preemptions;
  row.queue_s = to_seconds(request.time.queue);
  row.load_stall_s = to_seconds(request.time.load_stall);
  row.recompute_s = to_seconds(request.time.recompute);
  row.prefill_s = to_seconds(request.time.prefill);
  row.decode_s = to_seconds(request.time.decode);
  row.last = spec.last_turn;
  const workload::Turn& turn =
      workload_.jobs[index(spec.job)].turns[static_cast<std::size_t>(spec.turn)];
  row.gap_s = spec.last_turn ? 0 : to_seconds(turn.gap);
  row.ttft_s = row.t_first_token_s - row.t_arrive_s;
  if (row.output_tok > 1)
    row.tpot_s = (row.t_finish_s - row.t_first_token_s) / (row.output_tok - 1);
  if (spec.tool != engine::ToolId::none)
    row.tool = workload_.tools[static_cast<std::size_t>(spec.tool)];

  sweep::JobRow& job = jobs_[index(spec.job)];
  if (spec.turn == 0) {
    job.t_arrive_s = row.t_arrive_s;
    job.t_first_token_s = row.t_first_token_s;
  }
  job.jct_turns_s += row.t_finish_s - row.t_arrive_s;
  job.queue_s += row.queue_s;
  job.preemptions += row.preemptions;
  if (spec.last_turn) {
    job.t_finish_s = row.t_finish_s;
    job.jct_wall_s = job.t_finish_s - job.t_arrive_s;
  }
  turns_.add(std::move(row));
}

sweep::CellResult Recorder::take_tables() const {
  sweep::CellResult result;
  result.jobs = sweep::to_table<sweep::JobRow>(jobs_);
  result.turns = turns_.build();
  result.steps = steps_.build();
  result.sched = sched_.build();
  result.kv_events = kv_events_.build();
  return result;
}

}  // namespace worker
