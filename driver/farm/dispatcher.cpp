#include "driver/farm/dispatcher.hpp"

#include <cassert>
#include <cstring>

#include "sweeps/text/text.hpp"

namespace driver {
namespace {

using sweep::CellStatus;

// A longer pause between ticks does not count against the workers: the caller was not listening.
constexpr Nanos kLongestTick = std::chrono::seconds(1);

using engine::from_seconds;

std::string in_gib(double gib) { return sweep::formatted("%.6g GiB", gib); }

/// "was lost", and to what, where that is known.
std::string how_lost(const worker::GoneEnd& lost) {
  if (lost.signal == 0) return "was lost";
  return "was lost to signal " + std::to_string(lost.signal) + " (" + strsignal(lost.signal) + ')';
}

}  // namespace

Dispatcher::Dispatcher(const std::vector<CellTask>& cells, DispatchRules rules)
    : rules_(std::move(rules)) {
  for (const CellTask& task : cells) {
    const auto [at, added] = cells_.try_emplace(task.cell, Cell(task));
    assert(added);
    waiting_[task.sku].insert(at->second.place());
  }
}

std::vector<Command> Dispatcher::on(const Event& event, Nanos now) {
  now_ = std::max(now, now_);
  if (std::holds_alternative<Tick>(event))
    listened_ += std::min(now_ - std::exchange(last_tick_, now_), kLongestTick);
  // A heartbeat frees no worker and no cell, and there may be thousands a second.
  const bool settles = !std::holds_alternative<Letter<worker::Heartbeat>>(event);
  if (settles && busy_workers() > 1) overlap_until_ = now_;
  if (!finished_) {
    std::visit([this](const auto& e) { handle(e); }, event);
    if (settles) settle();
  } else if (const auto* late = std::get_if<Letter<worker::Hello>>(&event)) {
    if (workers_.try_emplace(late->worker, Worker(late->message)).second)
      commands_.emplace_back(Letter<worker::Stop>{late->worker, {}});
  }
  return std::exchange(commands_, {});
}

bool Dispatcher::expects(int worker, sweep::Attempt attempt) const {
  const auto at = workers_.find(worker);
  if (finished_ || at == workers_.end() || at->second.state != WorkerState::busy) return false;
  return at->second.run->attempt == attempt;
}

// Events -------------------------------------------------------------------------------------

void Dispatcher::handle(const Letter<worker::Hello>& joined) {
  const auto [at, added] = workers_.try_emplace(joined.worker, Worker(joined.message));
  if (!added) return;
  Worker& worker = at->second;
  worker.heard = listened_;
  roster_changed_ = true;
  if (worker.hello.backend != rules_.backend) {
    worker.state = WorkerState::unusable;
    return;
  }
  memory_.add_node(worker.hello.host, worker.hello.memory_gib);
}

void Dispatcher::handle(const Letter<worker::Heartbeat>& heard) {
  const auto at = workers_.find(heard.worker);
  if (at == workers_.end()) return;
  at->second.heard = listened_;
  std::optional<Run>& run = at->second.run;
  if (!run || run->attempt.cell != heard.message.attempt.cell) return;
  run->heartbeat = now_;
  if (std::exchange(run->progress, heard.message.progress) != heard.message.progress)
    run->progressed = listened_;
}

void Dispatcher::handle(const worker::GoneEnd& lost) {
  const auto [at, added] = workers_.try_emplace(lost.number, Worker({}));
  Worker& worker = at->second;
  if (worker.state == WorkerState::busy)
    lose(worker, how_lost(lost), lost.crashed || is_alone(worker));
  worker.state = WorkerState::unusable;
  worker.run.reset();
  memory_.release(lost.number);  // its process is gone, and so is the memory of its cell
  memory_.cancel_reservation_on(worker.hello.host);  // it may have been made for this worker
  roster_changed_ = true;
  if (lost.successor == 0) return;
  ++successors_;
  hello_over_ = false;
  hello_since_ = listened_;
}

void Dispatcher::handle(const Letter<worker::Done>& done) {
  if (!expects(done.worker, done.message.attempt))
    return revive(done.worker, done.message.attempt, WorkerState::idle, Memory::kept);
  const Run run = end_run(done.worker, workers_.at(done.worker), WorkerState::idle, Memory::kept);
  done_ += static_cast<int>(run.cells().size());
  double estimated_s = 0;
  for (const int index : run.cells()) estimated_s += cells_.at(index).task.estimate_s;
  const double taken_s = std::chrono::duration<double>(now_ - run.started).count();
  for (const int index : run.cells()) {
    Cell& cell = cells_.at(index);
    cell.state = CellState::over;
    Experience& experience = experience_[cell.task.sku];
    ++experience.cells;
    experience.taken_s += run.more.empty() ? taken_s : taken_s * cell.task.estimate_s / estimated_s;
    experience.estimated_s += cell.task.estimate_s;
  }
}

void Dispatcher::handle(const Letter<worker::Failed>& letter) {
  const worker::Failed& failed = letter.message;
  const WorkerState next = failed.poisoned ? WorkerState::unusable : WorkerState::idle;
  if (!expects(letter.worker, failed.attempt))
    return revive(letter.worker, failed.attempt, next, Memory::freed);
  const Run run = end_run(letter.worker, workers_.at(letter.worker), next, Memory::freed);
  if (!run.more.empty()) return retry_separately(run, failed.reason);
  if (run.abandonment) return attempt_abandoned(run, failed.reason);
  if (failed.machine_fault) return machine_failed(run, failed.reason);
  if (failed.wrong_server) return group_refused(run, failed.reason);
  if (failed.kind == CellStatus::failed) return attempt_failed(run, failed.reason);
  end_cell(run.attempt, failed.kind, failed.reason);
}

void Dispatcher::handle(const Letter<worker::Abandoned>& letter) {
  const sweep::Attempt attempt = letter.message.attempt;
  if (!expects(letter.worker, attempt))
    return revive(letter.worker, attempt, WorkerState::idle, Memory::freed);
  const Run run =
      end_run(letter.worker, workers_.at(letter.worker), WorkerState::idle, Memory::freed);
  if (!run.more.empty()) return retry_separately(run, "abandoned");
  if (!run.abandonment) return attempt_failed(run, "stopped without having been asked to");
  attempt_abandoned(run, "abandoned");
}

void Dispatcher::handle(const Tick&) {
  if (!hello_over_ && listened_ - hello_since_ > rules_.hello_grace) {
    hello_over_ = true;
    roster_changed_ = true;
  }
  if (rules_.deadline && now_ >= *rules_.deadline - rules_.margin) handle(Drain{});
  for (auto& [id, worker] : workers_)
    if (worker.state == WorkerState::busy) watch(id, worker);
}

void Dispatcher::handle(const Drain&) {
  draining_ = true;
  for (auto& [id, worker] : workers_)
    if (worker.state == WorkerState::busy &&
        !in_time(cells_.at(worker.run->attempt.cell).task.estimate_s, worker.run->started))
      abandon(id, worker, AbandonWhy::drain);
}

void Dispatcher::handle(const StopNow&) {
  draining_ = true;
  for (auto& [id, worker] : workers_)
    if (worker.state == WorkerState::busy) abandon(id, worker, AbandonWhy::drain);
}

// Which worker runs which cell ---------------------------------------------------------------

void Dispatcher::settle() {
  if (!std::exchange(opened_, true)) quarantine_killers();
  if (everyone_known() && std::exchange(roster_changed_, false)) end_infeasible();
  if (!draining_) assign_all(Repeats::elsewhere);
  if (busy_workers() > 0 || !(everyone_known() || draining_)) return;
  if (!draining_) assign_all(Repeats::anywhere);
  if (busy_workers() == 0) finish();
}

void Dispatcher::quarantine_killers() {
  for (auto& [id, cell] : cells_) {
    if (cell.task.deaths < rules_.deaths) continue;
    waiting_[cell.task.sku].erase(cell.place());
    end_cell({id, cell.task.attempts}, CellStatus::quarantined,
             "killed its process " + std::to_string(cell.task.deaths) + " times");
  }
}

void Dispatcher::end_infeasible() {
  for (auto& [sku, places] : waiting_) {
    double largest_gib = -1;
    std::string largest;
    for (const auto& [id, worker] : workers_) {
      if (!matches(worker, sku)) continue;
      const double gib = memory_.capacity_gib(worker.hello.host);
      if (gib > largest_gib) largest = worker.hello.host;
      largest_gib = std::max(largest_gib, gib);
    }
    if (largest_gib < 0) continue;  // no worker of this SKU: not a question of memory
    std::erase_if(places, [&](const Place& place) {
      const CellTask& task = cells_.at(place.cell).task;
      const double gib = task.host_gib;
      if (gib <= largest_gib) return false;
      memory_.cancel_reservation_of(place.cell);
      end_cell({place.cell, task.attempts}, CellStatus::infeasible,
               "needs " + in_gib(gib) + " of host memory, the largest node for it, " + largest +
                   ", has " + in_gib(largest_gib));
      return true;
    });
  }
}

void Dispatcher::assign_all(Repeats repeats) {
  for (auto& [id, worker] : workers_) {
    if (worker.state != WorkerState::idle) continue;
    if (const std::optional<int> cell = pick(id, worker, repeats)) assign(id, worker, *cell);
  }
}

std::optional<int> Dispatcher::pick(int id, const Worker& worker, Repeats repeats) {
  const std::string& node = worker.hello.host;
  if (const std::optional<int> holder = memory_.reserved_for(node)) {
    const Cell& cell = cells_.at(*holder);
    if (may_take(id, worker, cell, repeats) &&
        memory_.fits(node, id, {*holder, cell.task.host_gib}))
      return holder;
    if (!in_time(cell.task.estimate_s, now_)) memory_.cancel_reservation_on(node);
  }
  std::optional<Place> best;
  for (const auto& [sku, places] : waiting_) {
    if (!matches(worker, sku)) continue;
    for (const Place& place : places) {
      if (best && *best < place) break;
      const Cell& cell = cells_.at(place.cell);
      if (!may_take(id, worker, cell, repeats)) continue;
      if (memory_.fits(node, id, {place.cell, cell.task.host_gib})) {
        best = place;
        break;
      }
      if (cell.task.host_gib <= memory_.capacity_gib(node))
        memory_.reserve(node, {place.cell, cell.task.host_gib});
    }
  }
  return best ? std::optional(best->cell) : std::nullopt;
}

bool Dispatcher::may_take(int id, const Worker& worker, const Cell& cell, Repeats repeats) const {
  if (!matches(worker, cell.task.sku) || !in_time(cell.task.estimate_s, now_)) return false;
  if (cell.task.one_server && runs_group(cell.task.group)) return false;
  return repeats == Repeats::anywhere || !cell.tried_on.contains(id) || !other_could(cell);
}

bool Dispatcher::runs_group(int group) const {
  return std::ranges::any_of(workers_, [&](const auto& entry) {
    const auto& run = entry.second.run;
    return run && cells_.at(run->attempt.cell).task.group == group;
  });
}

/// Whether a live worker that has not tried the cell is able to run it.
bool Dispatcher::other_could(const Cell& cell) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const auto& [id, worker] = entry;
    return worker.is_alive() && matches(worker, cell.task.sku) && !cell.tried_on.contains(id) &&
           cell.task.host_gib <= memory_.capacity_gib(worker.hello.host);
  });
}

bool Dispatcher::matches(const Worker& worker, const std::string& sku) const {
  if (worker.hello.backend != rules_.backend) return false;
  return worker.hello.sku.empty() || worker.hello.sku == sku;
}

/// Whether a cell that started at `started` is expected to end by the deadline less the margin. A
/// cell that overruns its estimate is expected to end immediately.
bool Dispatcher::in_time(double estimate_s, Nanos started) const {
  if (!rules_.deadline) return true;
  const Nanos end = std::max(now_, started + from_seconds(estimate_s));
  return now_ < *rules_.deadline - rules_.margin && end <= *rules_.deadline - rules_.margin;
}

void Dispatcher::assign(int id, Worker& worker, int index) {
  Cell& cell = cells_.at(index);
  const std::vector<int> more = small_neighbors(worker, cell);
  const bool keep = keeps_memory(id, worker, cell.task);
  memory_.charge(worker.hello.host, id, {index, cell.task.host_gib}, keep);
  begin(id, cell);
  for (const int each : more) begin(id, cells_.at(each));
  const sweep::Attempt attempt{index, more.empty() ? cell.task.attempts + cell.tries : 0};
  worker.state = WorkerState::busy;
  worker.heard = listened_;
  worker.run = Run{attempt, more, now_, listened_, now_};
  commands_.emplace_back(AssignCell{id, attempt, more, cell.task.deaths, keep});
}

void Dispatcher::begin(int worker, Cell& cell) {
  waiting_[cell.task.sku].erase(cell.place());
  cell.state = CellState::running;
  cell.tried_on.insert(worker);
  ++cell.tries;
}

/// The cells beside this one in the plan that it can share an attempt with: none of them has been
/// tried, and they leave the other workers their part. Neighbors, so that a merge finds their rows
/// in order.
std::vector<int> Dispatcher::small_neighbors(const Worker& worker, const Cell& of) const {
  const auto is_fresh = [](const Cell& cell) {
    return cell.task.attempts + cell.tries + cell.task.deaths + cell.task.group == 0 &&
           !cell.task.alone && cell.task.estimate_s > 0;
  };
  std::size_t waiting = 0;
  for (const auto& [sku, places] : waiting_) waiting += places.size();
  const std::size_t most = waiting / std::max<std::size_t>(workers_.size(), 1);
  const auto cost_s = [this](const Cell& cell) {
    // The time of cells includes waits on a busy machine, which are no reason to part them.
    constexpr int kEnough = 32;  // cells that are done
    const bool known = experience_with(cell.task.sku).cells >= kEnough;
    return known ? std::min(cell.task.estimate_s, expected_s(cell)) : cell.task.estimate_s;
  };
  double left_s = std::chrono::duration<double>(rules_.together).count() - cost_s(of);
  std::vector<int> found;
  const auto take = [&](const Cell& cell) {
    const bool fits = cell.state == CellState::waiting && is_fresh(cell) &&
                      matches(worker, cell.task.sku) && cell.task.host_gib <= of.task.host_gib;
    if (!fits || found.size() + 1 >= most || cost_s(cell) > left_s) return false;
    left_s -= cost_s(cell);
    found.push_back(cell.task.cell);
    return true;
  };
  if (rules_.cell_timeout || !is_fresh(of) || left_s <= 0) return found;
  const auto at = cells_.find(of.task.cell);
  for (auto next = std::next(at); next != cells_.end() && take(next->second);) ++next;
  for (auto next = at; next != cells_.begin() && take(std::prev(next)->second);) --next;
  std::ranges::sort(found);
  return found;
}

/// Whether the worker keeps its host memory when this cell is done. Page-locking it again takes
/// tenths of a second per GiB, but memory that a worker keeps must not delay any other cell.
bool Dispatcher::keeps_memory(int id, const Worker& worker, const CellTask& task) const {
  if (worker.hello.backend != "cuda") return false;
  const double capacity = memory_.capacity_gib(worker.hello.host);
  double largest = 0;
  for (const auto& [index, cell] : cells_) {
    const bool to_come = cell.state == CellState::waiting || cell.state == CellState::running;
    if (to_come && cell.task.host_gib <= capacity) largest = std::max(largest, cell.task.host_gib);
  }
  return memory_.may_keep(worker.hello.host, id, task.host_gib, largest);
}

void Dispatcher::finish() {
  for (auto& [id, cell] : cells_)
    if (cell.state == CellState::waiting) cell.left = why_left(cell);
  waiting_.clear();
  for (const auto& [id, worker] : workers_) commands_.emplace_back(Letter<worker::Stop>{id, {}});
  finished_ = true;
}

bool Dispatcher::everyone_known() const {
  return hello_over_ || static_cast<int>(workers_.size()) >= rules_.workers + successors_;
}

bool Dispatcher::is_alone(const Worker& worker) const {
  return busy_workers() == 1 && !(lost_busy_ && worker.heard <= *lost_busy_);
}

int Dispatcher::busy_workers() const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.state == WorkerState::busy;
  }));
}

}  // namespace driver
