#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sweeps/tables/result.hpp"

/// Writes down what an engine would have recorded, a second per step.
class HandMadeCell {
 public:
  std::vector<sweep::JobRow> jobs;
  std::vector<sweep::TurnRow> turns;
  std::vector<sweep::StepRow> steps;
  std::vector<sweep::SchedRow> sched;
  std::vector<sweep::KvEventRow> kv_events;
  std::vector<sweep::Note> notes;

  sweep::JobRow& job(const std::string& id) {
    sweep::JobRow& row = jobs.emplace_back();
    row.job = static_cast<std::int32_t>(jobs.size() - 1);
    row.id = id;
    return row;
  }

  sweep::TurnRow& turn(std::int32_t job, std::int32_t turn, double arrive_s, double finish_s) {
    sweep::TurnRow& row = turns.emplace_back();
    row.job = job;
    row.turn = turn;
    row.t_arrive_s = arrive_s;
    row.t_finish_s = finish_s;
    return row;
  }

  sweep::StepRow& step(double start_s, std::int32_t running, std::int32_t waiting) {
    sweep::StepRow& row = steps.emplace_back();
    row.step = static_cast<std::int64_t>(steps.size());
    row.t_s = start_s;
    row.dur_s = 1;
    row.n_running = running;
    row.n_waiting = waiting;
    return row;
  }

  /// Of the latest step.
  void schedule(std::int32_t job, std::int32_t turn, sweep::SchedKind kind,
                std::int32_t tokens = 1) {
    sched.push_back({steps.back().step, job, turn, kind, tokens, 0});
  }

  /// Of the latest step.
  sweep::KvEventRow& event(double at_s, std::int32_t job, sweep::KvEventKind kind) {
    sweep::KvEventRow& row = kv_events.emplace_back();
    row.step = steps.back().step;
    row.t_s = at_s;
    row.job = job;
    row.turn = 0;
    row.kind = kind;
    return row;
  }

  sweep::CellResult result() const {
    sweep::CellResult cell;
    cell.jobs = sweep::to_table<sweep::JobRow>(jobs);
    cell.turns = sweep::to_table<sweep::TurnRow>(turns);
    cell.steps = sweep::to_table<sweep::StepRow>(steps);
    cell.sched = sweep::to_table<sweep::SchedRow>(sched);
    cell.kv_events = sweep::to_table<sweep::KvEventRow>(kv_events);
    cell.notes = notes;
    return cell;
  }
};

/// Three jobs, five steps. Job 1 is preempted for job 0 in step 3 and resumes in step 4; job 0 pins
/// its KV between its two turns.
inline HandMadeCell three_jobs() {
  using Kind = sweep::SchedKind;
  HandMadeCell cell;
  for (const char* id : {"astropy__astropy-12907", "b", "c"}) cell.job(id);
  cell.turn(0, 0, 0.0, 3.0).prompt_tok = 100;
  cell.turns.back().output_tok = 13;
  cell.turn(1, 0, 0.5, 5.0);
  cell.turn(2, 0, 1.5, 5.0);
  cell.turn(0, 1, 3.5, 5.0).prompt_tok = 200;
  cell.turns.back().cached_gpu_tok = 64;
  cell.turns.back().last = true;

  cell.step(0, 1, 0);
  cell.schedule(0, 0, Kind::fresh, 100);
  cell.step(1, 2, 0);
  cell.schedule(0, 0, Kind::running);
  cell.schedule(1, 0, Kind::fresh, 7);
  cell.step(2, 1, 2).stop_reason = sweep::StopReason::preempted;
  cell.schedule(0, 0, Kind::running);
  cell.schedule(1, 0, Kind::preempted, 0);
  cell.event(3, 0, sweep::KvEventKind::pin).deadline_s = 5;
  cell.step(3, 2, 0).pinned_jobs = 1;
  cell.schedule(1, 0, Kind::resumed, 7);
  cell.schedule(2, 0, Kind::fresh, 7);
  cell.step(4, 3, 0);
  cell.event(4, 0, sweep::KvEventKind::unpin).reason = sweep::KvReason::handoff;
  cell.schedule(1, 0, Kind::running);
  cell.schedule(2, 0, Kind::running);
  cell.schedule(0, 1, Kind::fresh, 136);
  return cell;
}
