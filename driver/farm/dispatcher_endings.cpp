// How attempts and cells end: on their own, or because they exceed a time limit.
#include <utility>

#include "driver/farm/dispatcher.hpp"
#include "sweeps/text/text.hpp"

namespace driver {
namespace {

using sweep::CellStatus;

std::string in_seconds(Nanos span) {
  return sweep::formatted("%.6g s", std::chrono::duration<double>(span).count());
}

}  // namespace

void Dispatcher::watch(int id, Worker& worker) {
  const Run& run = *worker.run;
  if (run.abandonment && listened_ - run.abandonment->asked > rules_.abandon_grace)
    return lose(worker, "did not abandon the cell within " + in_seconds(rules_.abandon_grace),
                is_alone(worker));
  if (listened_ - worker.heard > rules_.silence)
    return lose(worker, "was silent for " + in_seconds(rules_.silence), is_alone(worker));
  if (rules_.cell_timeout && now_ - run.started > *rules_.cell_timeout)
    abandon(id, worker, AbandonWhy::timeout);
  if (!rules_.cell_timeout && listened_ - run.progressed > patience(run))
    abandon(id, worker, AbandonWhy::stalled);
}

Nanos Dispatcher::patience(const Run& run) const {
  return run.progress.serving ? rules_.stalled : rules_.stalled_outside;
}

Dispatcher::Run Dispatcher::end_run(int id, Worker& worker, WorkerState next, Memory memory) {
  if (memory == Memory::kept)
    memory_.end(id);
  else
    memory_.release(id);
  worker.state = next;
  worker.heard = listened_;
  if (next == WorkerState::unusable) {
    roster_changed_ = true;
    memory_.cancel_reservation_on(worker.hello.host);  // it may have been made for this worker
  }
  return *std::exchange(worker.run, std::nullopt);
}

void Dispatcher::revive(int id, sweep::Attempt attempt, WorkerState next, Memory memory) {
  const auto at = workers_.find(id);
  if (at == workers_.end() || at->second.state != WorkerState::lost) return;
  if (at->second.run->attempt != attempt) return;
  end_run(id, at->second, next, memory);
  roster_changed_ = true;
}

void Dispatcher::lose(Worker& worker, const std::string& how, bool alone) {
  worker.state = WorkerState::lost;
  lost_busy_ = listened_;
  roster_changed_ = true;
  memory_.cancel_reservation_on(worker.hello.host);
  const std::string reason = "its worker on " + worker.hello.host + " " + how;
  const Run run = *worker.run;
  if (!run.more.empty()) return retry_separately(run, reason);
  if (run.abandonment) return attempt_abandoned(run, reason);
  Cell& cell = cells_.at(run.attempt.cell);
  // While other cells run it is unknown which of them killed the process.
  if (alone) ++cell.task.deaths;
  if (cell.task.deaths < rules_.deaths) return machine_failed(run, reason);
  end_cell(run.attempt, CellStatus::quarantined,
           "killed its process " + std::to_string(cell.task.deaths) + " times; " + reason);
}

/// A failed shared attempt does not say which cell failed: each is retried alone, with all of its
/// tries.
void Dispatcher::retry_separately(const Run& run, const std::string& reason) {
  commands_.emplace_back(AttemptEnded{run.attempt, 0, reason});
  for (const int index : run.cells()) {
    Cell& cell = cells_.at(index);
    cell.task.alone = true;
    cell.tries = 0;
    cell.tried_on.clear();
    wait_again(cell);
  }
}

void Dispatcher::attempt_failed(const Run& run, const std::string& reason) {
  Cell& cell = cells_.at(run.attempt.cell);
  if (cell.tries - cell.machine_faults >= rules_.tries)
    return end_cell(run.attempt, CellStatus::failed, reason);
  commands_.emplace_back(AttemptEnded{run.attempt, cell.task.deaths, reason});
  wait_again(cell);
}

void Dispatcher::machine_failed(const Run& run, const std::string& reason) {
  Cell& cell = cells_.at(run.attempt.cell);
  commands_.emplace_back(AttemptEnded{run.attempt, cell.task.deaths, reason});
  if (++cell.machine_faults < rules_.tries) return wait_again(cell);
  cell.state = CellState::left;
  cell.left = LeftCell{run.attempt.cell, LeftCell::Why::machine_fault, reason};
}

/// The cells of the group wait for another run: another worker would start the same server.
void Dispatcher::group_refused(const Run& run, const std::string& reason) {
  const int group = cells_.at(run.attempt.cell).task.group;
  commands_.emplace_back(
      AttemptEnded{run.attempt, cells_.at(run.attempt.cell).task.deaths, reason});
  refused_.emplace(group, reason);
  for (auto& [index, cell] : cells_) {
    if (cell.state != CellState::waiting || cell.task.group != group) continue;
    waiting_[cell.task.sku].erase(cell.place());
    wait_again(cell);
  }
  wait_again(cells_.at(run.attempt.cell));
}

void Dispatcher::attempt_abandoned(const Run& run, const std::string& reason) {
  if (run.abandonment->why == AbandonWhy::timeout)
    return end_cell(run.attempt, CellStatus::timeout,
                    "ran longer than " + in_seconds(*rules_.cell_timeout));
  if (run.abandonment->why == AbandonWhy::stalled)
    return attempt_failed(run, "made no progress for " + in_seconds(patience(run)));
  Cell& cell = cells_.at(run.attempt.cell);
  commands_.emplace_back(AttemptEnded{run.attempt, cell.task.deaths, reason});
  wait_again(cell);
}

void Dispatcher::end_cell(sweep::Attempt last, CellStatus kind, const std::string& reason) {
  cells_.at(last.cell).state = CellState::over;
  commands_.emplace_back(CellEnded{last, kind, reason});
}

void Dispatcher::wait_again(Cell& cell) {
  if (const auto refused = refused_.find(cell.task.group); refused != refused_.end()) {
    cell.state = CellState::left;
    cell.left = LeftCell{cell.task.cell, LeftCell::Why::wrong_server, refused->second};
    return;
  }
  cell.state = CellState::waiting;
  waiting_[cell.task.sku].insert(cell.place());
}

void Dispatcher::abandon(int id, Worker& worker, AbandonWhy why) {
  Run& run = *worker.run;
  if (run.abandonment) return;
  run.abandonment = {why, listened_};
  commands_.emplace_back(Letter<worker::Abandon>{id, {run.attempt}});
}

}  // namespace driver
