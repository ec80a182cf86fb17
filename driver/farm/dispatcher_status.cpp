// Queries about the dispatcher's state; nothing here changes it.
#include <ranges>
#include <set>

#include "driver/farm/dispatcher.hpp"

namespace driver {
namespace {

std::string listed(const std::set<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

std::string Dispatcher::worker_skus() const {
  std::set<std::string> skus;
  for (const auto& [id, worker] : workers_)
    if (worker.caps.backend == rules_.backend)
      skus.insert(worker.caps.sku.empty() ? "any" : worker.caps.sku);
  return skus.empty() ? "none" : listed(skus);
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
    has_worker |= able && is_alive(worker);
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

std::vector<SkuStatus> Dispatcher::status() const {
  std::map<std::string, SkuStatus> by_sku;
  for (const auto& [id, cell] : cells_) {
    SkuStatus& sku = by_sku[cell.task.sku];
    sku.sku = cell.task.sku;
    if (cell.state == CellState::over) ++sku.over;
    if (cell.state == CellState::waiting) ++sku.waiting;
    if (cell.state == CellState::running) ++sku.running;
  }
  const auto all = std::views::values(by_sku);
  return {all.begin(), all.end()};
}

}  // namespace driver
