#include "workers/record/recorder.hpp"

#include <algorithm>
#include <stdexcept>

namespace worker {
namespace {

using engine::index;
using engine::Nanos;
using engine::to_seconds;

/// In a step without work, requests that wait for their KV make the whole step a stall.
Nanos stall_of(const engine::StepTrace& trace) {
  const bool only_loads = trace.plan->scheduled.empty() && trace.num_loading > 0;
  return only_loads ? trace.end - trace.start : trace.stall;
}

/// Tokens of the share that a preempted request recomputes.
int tokens_again(const engine::ScheduledRequest& share) {
  return share.request->num_preemptions == 0 ? 0 : share.recomputed;
}

/// The part of the link's busy time that belongs to `blocks` of the `moved` blocks.
double link_time(Nanos busy, int blocks, int moved) {
  return moved > 0 ? to_seconds(busy) * blocks / moved : sweep::kNotObserved;
}

/// How an event moves the KV of a preempted request.
enum class Move { none, preempted, out, in };

Move move_of(const engine::KvEvent& event) {
  using Kind = engine::KvEventKind;
  using Reason = engine::KvReason;
  if (event.kind == Kind::preempt) return Move::preempted;
  if (event.kind == Kind::swap_out) return Move::out;
  if (event.kind == Kind::swap_in) return Move::in;
  if (event.kind == Kind::store && event.reason == Reason::swapped_out) return Move::out;
  if (event.kind == Kind::load && event.reason == Reason::demand) return Move::in;
  return Move::none;
}

}  // namespace

sweep::ForwardKind forward_of(const sweep::StepRow& row) {
  if (row.n_tok == 0) return sweep::ForwardKind::none;
  if (row.n_decode == 0) return sweep::ForwardKind::prefill;
  return row.n_prefill_tok == 0 ? sweep::ForwardKind::decode : sweep::ForwardKind::mixed;
}

Recorder::Recorder(const workload::Workload& workload, std::int64_t bytes_per_block, int block_size,
                   std::vector<std::string> own_reasons, sweep::RecordLevel level)
    : turns_(workload),
      bytes_per_block_(bytes_per_block),
      block_size_(block_size),
      own_reasons_(std::move(own_reasons)),
      level_(level),
      open_(workload.jobs.size()) {
  const auto taken = sweep::enum_names(sweep::KvReason{});
  for (const std::string& reason : own_reasons_)
    if (std::ranges::find(taken, reason) != taken.end())
      throw std::logic_error("a rule declares the reason \"" + reason +
                             "\", which the archive has for another");
}

void Recorder::on_step(const engine::StepTrace& trace) {
  record_step(trace);
  if (level_ == sweep::RecordLevel::all) record_schedule(*trace.plan);
  record_evictions(trace);
  record_kv_events(trace);
  for (const engine::Request* request : trace.finished)
    record_turn(*request, to_seconds(trace.end));
}

void Recorder::record_step(const engine::StepTrace& trace) {
  sweep::StepRow row;
  row.step = static_cast<std::int64_t>(trace.plan->step);
  row.t_s = to_seconds(trace.start);
  row.dur_s = to_seconds(trace.end - trace.start);
  record_shares(*trace.plan, row);
  row.kv_waste_tok = trace.unwritten_slots;
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
  row.stop_reason = trace.plan->stop;
  row.window = trace.plan->token_budget;
  row.host_blk_used = trace.host_blocks;
  row.host_blk_total = trace.host_capacity;
  row.n_loading = trace.num_loading;
  row.stall_s = to_seconds(stall_of(trace));
  if (trace.split) {
    row.t_schedule_s = to_seconds(trace.scheduling);
    row.t_launch_s = to_seconds(trace.split->launch);
    row.t_device_s = to_seconds(trace.split->device);
    row.t_wait_s = to_seconds(trace.split->wait);
  }
  row.h2d_busy_s = to_seconds(trace.transfers.load_busy);
  row.d2h_busy_s = to_seconds(trace.transfers.store_busy);
  steps_.add(row);
}

void Recorder::record_shares(const engine::StepPlan& plan, sweep::StepRow& row) const {
  row.n_tok = plan.total_tokens;
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    row.max_tok = std::max(row.max_tok, share.num_tokens);
    row.n_decode += share.decode ? 1 : 0;
    row.n_again_tok += tokens_again(share);
  }
  row.n_prefill_tok = row.n_tok - row.n_decode;
  row.forward = forward_of(row);
}

void Recorder::record_schedule(const engine::StepPlan& plan) {
  const auto step = static_cast<std::int64_t>(plan.step);
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    const engine::RequestSpec& spec = share.request->spec;
    sched_.add({step, turns_.program_of(spec.job), turns_.number_of(spec.job, spec.turn),
                share.kind, share.num_tokens, share.computed_before});
  }
  for (const engine::Request* victim : plan.preempted) {
    const engine::RequestSpec& spec = victim->spec;
    sched_.add({step, turns_.program_of(spec.job), turns_.number_of(spec.job, spec.turn),
                sweep::SchedKind::preempted, 0, 0});
  }
}

void Recorder::record_kv_events(const engine::StepTrace& trace) {
  for (const engine::KvEvent& event : trace.kv_events) {
    sweep::KvEventRow row;
    row.step = static_cast<std::int64_t>(trace.plan->step);
    row.t_s = to_seconds(event.at);
    row.job = turns_.program_of(event.job);
    row.turn = turns_.number_of(event.job, event.turn);
    row.kind = event.kind;
    row.reason = event.reason;
    row.blocks = event.blocks;
    row.bytes = event.blocks * bytes_per_block_;
    row.by_job = turns_.program_of(event.by_job);
    row.by_turn = turns_.number_of(event.by_job, event.by_turn);
    if (event.deadline >= Nanos{0}) row.deadline_s = to_seconds(event.deadline);
    kv_events_.add(row);
    record_swap(event, trace.transfers);
  }
}

/// Opens a row for each preempted request, and completes the rows of resumed ones.
void Recorder::record_evictions(const engine::StepTrace& trace) {
  for (const engine::Request* victim : trace.plan->preempted) {
    end_eviction(*victim);
    sweep::EvictionRow& row = evictions_.emplace_back();
    row.job = turns_.program_of(victim->spec.job);
    row.turn = turns_.number_of(victim->spec.job, victim->spec.turn);
    row.step = static_cast<std::int64_t>(trace.plan->step);
    row.tokens = victim->preempted_tokens;
    row.t_evict_s = to_seconds(trace.start);
    open_[index(victim->spec.job)] = {static_cast<int>(evictions_.size()) - 1, false,
                                      victim->time.recompute};
  }
  if (evictions_.empty()) return;
  for (const engine::ScheduledRequest& share : trace.plan->scheduled) {
    if (share.kind != engine::SchedKind::resumed) continue;
    OpenEviction& open = open_[index(share.request->spec.job)];
    if (open.row < 0 || open.resumed) continue;
    open.resumed = true;
    evictions_[static_cast<std::size_t>(open.row)].t_resume_s = to_seconds(trace.start);
  }
}

/// Adds a swap of its blocks to the row of a preempted request.
void Recorder::record_swap(const engine::KvEvent& event, const engine::TransferStats& copies) {
  const Move move = move_of(event);
  const int number = move == Move::none ? -1 : open_[index(event.job)].row;
  if (number < 0) return;
  sweep::EvictionRow& row = evictions_[static_cast<std::size_t>(number)];
  if (move == Move::preempted) row.blocks = event.blocks;
  if (move == Move::out) {
    // A request that is preempted block by block is swapped out over several steps.
    row.bytes += event.blocks * bytes_per_block_;
    const bool whole = row.bytes / bytes_per_block_ * block_size_ >= row.tokens;
    row.mode = whole ? sweep::EvictionMode::swap : sweep::EvictionMode::partial;
    row.out_s += link_time(copies.store_busy, event.blocks, copies.stored_blocks);
  }
  if (move == Move::in && row.mode != sweep::EvictionMode::recompute)
    row.in_s = link_time(copies.load_busy, event.blocks, copies.loaded_blocks);
}

void Recorder::end_eviction(const engine::Request& request) {
  OpenEviction& open = open_[index(request.spec.job)];
  if (open.row < 0) return;
  evictions_[static_cast<std::size_t>(open.row)].recompute_s =
      to_seconds(request.time.recompute - open.recomputed_until);
  open = {};
}

void Recorder::record_turn(const engine::Request& request, double finish_s) {
  const engine::RequestSpec& spec = request.spec;
  end_eviction(request);
  sweep::TurnRow row = turns_.row_of(spec);
  row.t_admit_s = to_seconds(request.admitted);
  row.t_first_token_s = to_seconds(request.first_token);
  row.t_finish_s = finish_s;
  row.prompt_tok = request.num_prompt();
  row.output_tok = request.num_outputs();
  row.cached_gpu_tok = request.prefix_hit_tokens;
  row.cached_host_tok = request.host_hit_tokens;
  row.cached_disk_tok = std::min(request.disk_hit_tokens, request.host_hit_tokens);
  row.recomputed_tok = request.recomputed_tokens;
  row.preemptions = request.num_preemptions;
  row.queue_s = to_seconds(request.time.queue);
  row.load_stall_s = to_seconds(request.time.load_stall);
  row.recompute_s = to_seconds(request.time.recompute);
  row.prefill_s = to_seconds(request.time.prefill);
  row.decode_s = to_seconds(request.time.decode);
  turns_.add(spec, std::move(row));
}

sweep::CellResult Recorder::take_tables() {
  sweep::CellResult result;
  std::move(turns_).take(result);
  result.steps = std::move(steps_).take();
  result.sched = std::move(sched_).take();
  result.kv_events = std::move(kv_events_).take();
  for (sweep::Column& column : result.kv_events.columns)
    if (column.name == "reason")
      column.enum_names.insert(column.enum_names.end(), own_reasons_.begin(), own_reasons_.end());
  result.evictions = sweep::to_table<sweep::EvictionRow>(evictions_);
  return result;
}

}  // namespace worker
