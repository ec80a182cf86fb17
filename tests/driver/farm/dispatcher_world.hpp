#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/farm/dispatcher.hpp"

namespace driver_test {

using driver::Letter;
using driver::Nanos;
using std::chrono::seconds;

inline driver::CellTask cell(int index, double estimate_s = 1,
                             const std::string& sku = "h100-80gb") {
  return {.cell = index, .sku = sku, .estimate_s = estimate_s};
}
inline driver::CellTask big_cell(int index, double host_gib, double estimate_s = 1) {
  return {.cell = index, .sku = "h100-80gb", .estimate_s = estimate_s, .host_gib = host_gib};
}

/// The workers of a dispatcher. Executes its commands and checks each against the invariants. A
/// violation throws std::logic_error.
class World {
 public:
  World(std::vector<driver::CellTask> cells, driver::DispatchRules rules)
      : dispatcher(cells, with_backend(rules)), backend_(with_backend(rules).backend) {
    for (const driver::CellTask& cell : cells) {
      tasks_[cell.cell] = cell;
      attempts_[cell.cell] = cell.attempts;
    }
  }

  // What happens -----------------------------------------------------------------------------
  void join(int worker, const std::string& sku = "", const std::string& node = "n1",
            double node_gib = 1000) {
    workers_[worker] = {
        .hello = {.host = node, .memory_gib = node_gib, .backend = backend_, .sku = sku}};
    const auto [at, added] = capacity_.try_emplace(node, node_gib);
    if (!added) at->second = std::min(at->second, node_gib);
    on(Letter<worker::Hello>{worker, workers_[worker].hello});
  }
  void done(int worker) {
    const double held = held_gib(workers_.at(worker));
    const Running run = end(worker);
    if (run.keep) workers_.at(worker).kept_gib = held;
    if (dispatcher.expects(worker, run.attempt))
      for (const int cell : run.cells) over_once(cell, "done");
    on(Letter<worker::Done>{worker, {run.attempt}});
  }
  void fail(int worker, sweep::CellStatus kind = sweep::CellStatus::failed) {
    fail_as(worker, {.kind = kind, .reason = "broke"});
  }
  /// The cell's server is not the planned one.
  void refuse_server(int worker, const std::string& reason) {
    fail_as(worker, {.reason = reason, .wrong_server = true});
  }
  /// The cell ends by a fault of the machine.
  void fault_machine(int worker) {
    fail_as(worker, {.reason = "disk full", .machine_fault = true});
  }
  void poison(int worker) {
    workers_[worker].usable = false;
    fail_as(worker, {.reason = "gone", .poisoned = true});
  }
  void abandoned(int worker) {
    const Running run = end(worker);
    on(Letter<worker::Abandoned>{worker, {run.attempt}});
  }
  void kill(int worker, bool replaced = false) {
    workers_[worker].running.reset();
    workers_[worker].kept_gib = 0;
    workers_[worker].usable = false;
    on(worker::GoneEnd{.number = worker, .successor = replaced ? kSuccessor : 0});
  }
  void heard(int worker, bool progressed = true, bool serving = true) {
    worker::Heartbeat heartbeat;
    if (const auto& running = workers_.at(worker).running) heartbeat.attempt = running->attempt;
    worker::Progress& progress = workers_.at(worker).progress;
    progress.steps += progressed ? 1 : 0;
    if (progressed) progress.serving = serving;
    heartbeat.progress = progress;
    on(Letter<worker::Heartbeat>{worker, heartbeat});
  }
  void drain() { on(driver::Drain{}); }
  void stop_now() { on(driver::StopNow{}); }
  /// Lets time pass, with a tick a second. Busy workers send heartbeats, unless they are `silent`,
  /// and their cells progress, unless they are `stalled`.
  void pass(seconds span, std::set<int> silent = {}, std::set<int> stalled = {}) {
    for (; span > seconds(0); span -= seconds(1)) {
      now += seconds(1);
      for (const auto& [id, worker] : workers_)
        if (worker.running && !silent.contains(id)) heard(id, !stalled.contains(id));
      on(driver::Tick{});
    }
  }
  void on(const driver::Event& event) {
    for (const driver::Command& command : dispatcher.on(event, now))
      std::visit([this](const auto& c) { obey(c); }, command);
  }

  // What is so -------------------------------------------------------------------------------
  std::optional<int> cell_of(int worker) const {
    const auto at = workers_.find(worker);
    if (at == workers_.end() || !at->second.running) return std::nullopt;
    return at->second.running->attempt.cell;
  }
  /// The first, and those that share its attempt.
  std::vector<int> cells_of(int worker) const { return workers_.at(worker).running->cells; }
  int attempt_of(int worker) const { return workers_.at(worker).running->attempt.number; }
  bool asked_to_abandon(int worker) const {
    return workers_.at(worker).running && workers_.at(worker).running->abandon;
  }
  std::vector<int> busy() const {
    std::vector<int> ids;
    for (const auto& [id, worker] : workers_)
      if (worker.running) ids.push_back(id);
    return ids;
  }
  /// "done", a status name, or empty.
  std::string fate(int cell) const {
    const auto at = fates_.find(cell);
    return at == fates_.end() ? "" : at->second;
  }
  std::string reason(int cell) const {
    const auto at = reasons_.find(cell);
    return at == reasons_.end() ? "" : at->second;
  }
  /// Of a cell that ended without a result.
  int last_attempt(int cell) const { return last_attempts_.at(cell); }
  std::optional<driver::LeftCell::Why> left(int cell) const {
    for (const driver::LeftCell& l : dispatcher.left())
      if (l.cell == cell) return l.why;
    return std::nullopt;
  }
  /// Once finished: each cell is over or left, not both; throws otherwise.
  void check_end() const {
    std::set<int> left;
    for (const driver::LeftCell& l : dispatcher.left()) left.insert(l.cell);
    for (const auto& [id, task] : tasks_)
      if (left.contains(id) == fates_.contains(id))
        throw std::logic_error("cell " + std::to_string(id) + " is neither or both");
    for (const auto& [id, worker] : workers_)
      if (!stopped_.contains(id)) throw std::logic_error("a worker was not stopped");
  }
  const std::vector<int>& started() const { return started_; }
  /// Host memory that an idle worker still holds.
  double kept_gib(int worker) const { return workers_.at(worker).kept_gib; }
  /// The most that workers held at once, and that idle ones did.
  double most_held_gib() const { return most_held_gib_; }
  double most_kept_gib() const { return most_kept_gib_; }

  driver::Dispatcher dispatcher;
  Nanos now{0};

 private:
  struct Running {
    sweep::Attempt attempt;
    std::vector<int> cells;
    bool keep = false;
    bool abandon = false;
  };
  static constexpr int kSuccessor = 1000;
  struct Worker {
    worker::Hello hello;
    bool usable = true;
    std::optional<Running> running{};
    worker::Progress progress{};
    double kept_gib = 0;  // host memory from earlier cells
  };

  static driver::DispatchRules with_backend(driver::DispatchRules rules) {
    if (rules.backend.empty()) rules.backend = "sim";
    return rules;
  }
  static void require(bool holds, const std::string& promise) {
    if (!holds) throw std::logic_error(promise);
  }
  Running end(int worker) {
    const Running run = *workers_.at(worker).running;
    workers_.at(worker).running.reset();
    workers_.at(worker).kept_gib = 0;
    return run;
  }
  void fail_as(int worker, worker::Failed failed) {
    failed.attempt = end(worker).attempt;
    on(Letter<worker::Failed>{worker, failed});
  }
  double held_gib(const Worker& worker) const {
    if (!worker.running) return worker.kept_gib;
    return std::max(worker.kept_gib, tasks_.at(worker.running->attempt.cell).host_gib);
  }
  void over_once(int cell, const std::string& fate) {
    require(fates_.emplace(cell, fate).second, "a cell is over once");
  }

  void obey(const driver::AssignCell& assign) {
    Worker& worker = workers_.at(assign.worker);
    require(worker.usable && !worker.running, "cells go to idle and usable workers");
    require(!dispatcher.status(now).draining, "nothing starts while draining");
    std::vector<int> cells = assign.more;
    cells.insert(cells.begin(), assign.attempt.cell);
    for (const int cell : cells) {
      const driver::CellTask& task = tasks_.at(cell);
      require(worker.hello.sku.empty() || worker.hello.sku == task.sku, "cells go to their SKU");
      require(!fates_.contains(cell), "a cell that is over does not start");
      if (cells.size() > 1)
        require(attempts_.at(cell) == 0 && shared_.insert(cell).second, "a cell is fresh to share");
      else
        require(assign.attempt.number == ++attempts_.at(cell), "attempts count up");
    }
    worker.running = Running{assign.attempt, cells, assign.keep_memory};
    worker.progress = {};
    started_.insert(started_.end(), cells.begin(), cells.end());
    double used = 0, kept = 0;
    for (const auto& [id, other] : workers_) kept += other.kept_gib;
    for (const auto& [id, other] : workers_)
      if (other.hello.host == worker.hello.host) used += held_gib(other);
    require(used <= capacity_.at(worker.hello.host), "a node's memory is never exceeded");
    most_held_gib_ = std::max(most_held_gib_, used);
    most_kept_gib_ = std::max(most_kept_gib_, kept);
  }
  void obey(const Letter<worker::Abandon>& abandon) {
    auto& running = workers_.at(abandon.worker).running;
    require(running && running->attempt == abandon.message.attempt && !running->abandon,
            "a running cell is asked to stop once");
    running->abandon = true;
  }
  void obey(const Letter<worker::Stop>& stop) {
    require(stopped_.insert(stop.worker).second, "a worker is stopped once");
  }
  void obey(const driver::AttemptEnded&) {}
  void obey(const driver::CellEnded& ended) {
    over_once(ended.attempt.cell, std::string(to_text(ended.kind)));
    reasons_[ended.attempt.cell] = ended.reason;
    last_attempts_[ended.attempt.cell] = ended.attempt.number;
  }

  std::string backend_;
  std::map<int, driver::CellTask> tasks_;
  std::map<int, int> attempts_;  // alone
  std::set<int> shared_;         // cells that have shared an attempt
  std::map<int, Worker> workers_;
  std::map<std::string, double> capacity_;
  std::map<int, std::string> fates_;
  std::map<int, std::string> reasons_;
  std::map<int, int> last_attempts_;
  std::set<int> stopped_;
  std::vector<int> started_;
  double most_held_gib_ = 0, most_kept_gib_ = 0;  // when a cell started
};

}  // namespace driver_test
