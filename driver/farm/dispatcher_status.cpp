// Queries about the dispatcher's state; nothing here changes it.
#include <algorithm>
#include <set>

#include "driver/farm/dispatcher.hpp"
#include "sweeps/text/text.hpp"

namespace driver {

std::string Dispatcher::worker_skus() const {
  std::set<std::string> skus;
  for (const auto& [id, worker] : workers_)
    if (worker.hello.backend == rules_.backend)
      skus.insert(worker.hello.sku.empty() ? "any" : worker.hello.sku);
  return skus.empty() ? "none" : sweep::joined(skus);
}

std::optional<int> Dispatcher::cell_alone() const {
  const auto is_busy = [](const auto& entry) { return entry.second.state == WorkerState::busy; };
  if (busy_workers() != 1) return std::nullopt;
  const Run& only = *std::ranges::find_if(workers_, is_busy)->second.run;
  if (!only.more.empty() || (overlap_until_ && only.heartbeat <= *overlap_until_))
    return std::nullopt;
  return only.attempt.cell;
}

LeftCell Dispatcher::why_left(const Cell& cell) const {
  using Why = LeftCell::Why;
  const auto left = [&](Why why, std::string reason) {
    return LeftCell{cell.task.cell, why, std::move(reason)};
  };
  bool had_worker = false;
  bool has_worker = false;
  for (const auto& [id, worker] : workers_) {
    const bool able = matches(worker, cell.task.sku);
    had_worker |= able;
    has_worker |= able && worker.is_alive();
  }
  if (draining_) return left(Why::drained, "not started, since the run was stopped");
  if (!had_worker)
    return left(Why::no_worker, "no " + rules_.backend + " worker is a " + cell.task.sku +
                                    "; the workers are: " + worker_skus());
  if (!has_worker) return left(Why::workers_lost, "every worker for it was lost");
  if (!in_time(cell.task.estimate_s, now_))
    return left(Why::no_time, "it cannot finish before the time limit");
  return left(Why::workers_lost, "lost workers may still hold the host memory that it needs");
}

std::vector<LeftCell> Dispatcher::left() const {
  std::vector<LeftCell> all;
  for (const auto& [id, cell] : cells_)
    if (cell.left) all.push_back(*cell.left);
  return all;
}

Dispatcher::Experience Dispatcher::experience_with(const std::string& sku) const {
  const auto own = experience_.find(sku);
  if (own != experience_.end()) return own->second;
  Experience all;
  for (const auto& [name, past] : experience_) {
    all.cells += past.cells;
    all.taken_s += past.taken_s;
    all.estimated_s += past.estimated_s;
  }
  return all;
}

double Dispatcher::expected_s(const Cell& cell) const {
  const double estimate_s = cell.task.estimate_s;
  const Experience past = experience_with(cell.task.sku);
  if (past.cells == 0) return estimate_s;
  if (estimate_s <= 0) return past.taken_s / past.cells;
  return past.estimated_s > 0 ? estimate_s * past.taken_s / past.estimated_s : estimate_s;
}

FarmStatus Dispatcher::status(Nanos now) const {
  FarmStatus status{.cells = static_cast<int>(cells_.size()),
                    .done = done_,
                    .running = busy_workers(),
                    .draining = draining_,
                    .now = now};
  std::map<std::string, SkuStatus> by_sku;
  std::map<std::string, double> work_s;
  std::map<int, Nanos> started;
  for (const auto& [id, worker] : workers_)
    if (worker.state == WorkerState::busy)
      for (const int cell : worker.run->cells()) started[cell] = worker.run->started;
  for (const auto& [id, cell] : cells_) {
    SkuStatus& sku = by_sku[cell.task.sku];
    if (cell.state == CellState::over) ++sku.over;
    if (cell.state == CellState::waiting) {
      ++sku.waiting;
      work_s[cell.task.sku] += expected_s(cell);
    } else if (cell.state == CellState::running) {
      ++sku.running;
      const double spent_s = std::chrono::duration<double>(now - started.at(id)).count();
      work_s[cell.task.sku] += std::max(0.0, expected_s(cell) - spent_s);
    }
  }
  for (auto& [name, sku] : by_sku) {
    sku.sku = name;
    status.waiting += sku.waiting;
    for (const auto& [id, worker] : workers_)
      sku.workers += worker.is_alive() && matches(worker, name);
    const int open = sku.waiting + sku.running;
    const bool known = sku.workers > 0 && (open == 0 || work_s[name] > 0);
    if (known) sku.eta_s = work_s[name] / std::min(sku.workers, std::max(open, 1));
    status.skus.push_back(sku);
  }
  return status;
}

}  // namespace driver
