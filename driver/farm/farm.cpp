#include "driver/farm/farm.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "workers/cell/experiment.hpp"

namespace driver {
namespace {

using sweep::CellStatus;

DispatchRules rules_for(const FarmOptions& options) {
  DispatchRules rules = options.rules;
  rules.workers = static_cast<int>(options.workers.size());
  return rules;
}

/// What a worker runs.
struct RunningCell {
  sweep::Attempt attempt;
  std::vector<int> more;  // cells that run with it, before or after it
  Nanos heard;            // the worker's last heartbeat
  worker::Progress progress;
};

class Farm {
 public:
  Farm(worker::Channel& channel, const engine::Clock& clock, const std::vector<CellTask>& cells,
       FarmSink& sink, const FarmOptions& options)
      : channel_(channel),
        clock_(clock),
        sink_(sink),
        options_(options),
        dispatcher_(cells, rules_for(options)),
        expected_(options.workers.begin(), options.workers.end()),
        cells_(static_cast<int>(cells.size())) {}

  FarmResult run() {
    try {
      while (!dispatcher_.finished()) round();
    } catch (...) {
      dismiss_workers();
      if (!result_.stuck_workers.empty()) options_.on_stuck();
      throw;
    }
    dismiss_workers();
    result_.left = dispatcher_.left();
    sink_.on_status(status());
    return std::move(result_);
  }

  // Messages ---------------------------------------------------------------------------------

  void on(int from, worker::Hello& hello) {
    refuse_shared_device(from, hello);
    sink_.on_worker(from, hello);
    const WorkerCaps caps{hello.sku, hello.host, hello.memory_gib, hello.backend};
    workers_.insert_or_assign(from, std::move(hello));
    dispatch(WorkerJoined{from, caps});
  }
  void on(int from, const worker::Heartbeat& heartbeat) {
    const auto at = running_.find(from);
    const bool runs = at != running_.end() && at->second.attempt.cell == heartbeat.attempt.cell;
    const bool progressed = runs && at->second.progress != heartbeat.progress;
    if (runs) {
      at->second.progress = heartbeat.progress;
      at->second.heard = clock_.now();
    }
    dispatch(WorkerHeard{from, progressed, heartbeat.progress.serving});
  }
  void on(int from, worker::Done& done) {
    if (dispatcher_.expects(from, done.attempt)) {
      sink_.on_done(done.attempt, workers_.at(from), std::move(done.result));
      result_.done += 1 + static_cast<int>(running_.at(from).more.size());
      end_run(from);
    }
    dispatch(CellDone{from, done.attempt});
  }
  void on(int from, worker::Failed& failed) {
    end_run(from);
    dispatch(CellFailed{from, failed.attempt, failed.kind, std::move(failed.reason),
                        failed.poisoned, failed.machine_fault, failed.wrong_server});
  }
  void on(int from, const worker::Abandoned& abandoned) {
    end_run(from);
    dispatch(CellAbandoned{from, abandoned.attempt});
  }
  void on(int from, const worker::Goodbye& goodbye) {
    take_leave(from, goodbye);
    if (goodbye.wrong_input) throw worker::InputError(goodbye.unable);
    if (!goodbye.unable.empty()) throw std::runtime_error(goodbye.unable);
  }
  template <class Other>
  void on(int from, const Other&) {
    throw worker::ProtocolError("worker " + std::to_string(from) +
                                " sent a message that only the driver sends");
  }

 private:
  void round() {
    handle_interruptions();
    while (receive()) handle_interruptions();
    for (const worker::GoneEnd& end : channel_.gone()) lose(end);
    const Nanos now = clock_.now();
    if (!last_tick_ || now - *last_tick_ >= options_.tick) {
      last_tick_ = now;
      dispatch(Tick{});
    }
    if (!last_status_ || now - *last_status_ >= options_.status_period) {
      last_status_ = now;
      sink_.on_status(status());
    }
    if (!dispatcher_.finished()) channel_.wait(options_.longest_sleep);
  }

  void take_leave(int from, const worker::Goodbye& goodbye) {
    left_.insert(from);
    if (goodbye.stuck) result_.stuck_workers.push_back(from);
  }

  void lose(const worker::GoneEnd& end) {
    left_.insert(end.number);
    if (end.successor != 0) expected_.insert(end.successor);
    if (gone_.insert(end.number).second)
      dispatch(WorkerLost{end.number, end.crashed, end.signal, end.successor != 0});
    end_run(end.number);
  }

  bool receive() {
    std::optional<worker::Received> received = channel_.poll();
    if (!received) return false;
    std::visit([&](auto& message) { on(received->from, message); }, received->message);
    return true;
  }

  void handle_interruptions() {
    for (const int wanted = options_.interruptions(); handled_interruptions_ < wanted;) {
      ++handled_interruptions_;
      sink_.on_stop_asked(cell_alone());
      if (handled_interruptions_ == 1) dispatch(Drain{});
      if (handled_interruptions_ == 2) dispatch(StopNow{});
    }
  }

  /// Handles the event and executes the resulting commands. A worker that a command cannot reach is
  /// another event.
  void dispatch(const Event& event) {
    std::deque<Event> events = {event};
    for (; !events.empty(); events.pop_front())
      for (const Command& command : dispatcher_.on(events.front(), clock_.now()))
        std::visit([&](const auto& c) { obey(c, events); }, command);
  }

  void obey(const AssignCell& assign, std::deque<Event>& losses) {
    const worker::Hello& worker = workers_.at(assign.worker);
    std::vector<int> cells = assign.more;
    cells.insert(cells.begin(), assign.attempt.cell);
    std::string config = sink_.config_of(cells);
    sink_.on_start(assign.attempt, assign.more, assign.deaths, worker);
    running_[assign.worker] = RunningCell{assign.attempt, assign.more, clock_.now(), {}};
    note_overlap();
    tell(assign.worker, worker::Assign{assign.attempt, std::move(config), assign.keep_memory},
         losses);
  }
  void obey(const AbandonCell& abandon, std::deque<Event>& losses) {
    tell(abandon.worker, worker::Abandon{abandon.attempt}, losses);
  }
  void obey(const StopWorker& stop, std::deque<Event>& losses) {
    if (stopped_.insert(stop.worker).second) tell(stop.worker, worker::Stop{}, losses);
  }
  void obey(const AttemptEnded& ended, std::deque<Event>&) {
    forget(ended.attempt);
    sink_.on_attempt_ended(ended.attempt, ended.deaths, ended.reason);
  }
  void obey(const CellEnded& ended, std::deque<Event>&) {
    forget(ended.attempt);
    ++result_.ended;
    if (has_failed(ended.kind)) ++result_.failed;
    sink_.on_ended(ended.attempt, ended.kind, ended.reason);
  }

  void tell(int worker, const worker::Message& message, std::deque<Event>& losses) {
    try {
      channel_.send(worker, message);
    } catch (const worker::ChannelError&) {
      if (gone_.insert(worker).second) losses.push_back(WorkerLost{worker});
    }
  }

  /// Two workers on one GPU would distort each other's measurements.
  void refuse_shared_device(int from, const worker::Hello& hello) const {
    if (hello.device_id.empty()) return;
    for (const auto& [other, known] : workers_) {
      if (other == from || known.host != hello.host || known.device_id != hello.device_id) continue;
      throw worker::InputError("workers " + std::to_string(other) + " and " + std::to_string(from) +
                               " on " + hello.host + " own the same GPU (" + hello.device_id +
                               "): start one worker a GPU");
    }
  }
  void end_run(int worker) {
    note_overlap();
    running_.erase(worker);
  }
  void note_overlap() {
    if (running_.size() > 1) overlap_until_ = clock_.now();
  }
  /// The only running cell, if no other cell has run since its last heartbeat. If its process is
  /// gone, that cell killed it.
  std::optional<int> cell_alone() const {
    if (running_.size() != 1) return std::nullopt;
    const RunningCell& only = running_.begin()->second;
    if (!only.more.empty() || (overlap_until_ && only.heard <= *overlap_until_))
      return std::nullopt;
    return only.attempt.cell;
  }

  void forget(sweep::Attempt attempt) {
    note_overlap();
    std::erase_if(running_, [&](const auto& entry) { return entry.second.attempt == attempt; });
  }

  /// Stops every worker, including those that never said hello, and waits until they have left.
  void dismiss_workers() noexcept {
    std::deque<Event> losses;
    try {
      for (const int worker : everyone()) obey(StopWorker{worker}, losses);
      const Nanos begin = clock_.now();
      while (!all_left() && clock_.now() - begin < options_.goodbye_grace) {
        while (std::optional<worker::Received> received = channel_.poll())
          if (const auto* goodbye = std::get_if<worker::Goodbye>(&received->message))
            take_leave(received->from, *goodbye);
        for (const worker::GoneEnd& end : channel_.gone()) left_.insert(end.number);
        if (!all_left()) channel_.wait(options_.longest_sleep);
      }
      channel_.flush(options_.longest_sleep);
    } catch (const std::exception&) {
      // The channel is broken: workers that have not left count as stuck.
    }
    for (const int worker : everyone())
      if (!left_.contains(worker)) result_.stuck_workers.push_back(worker);
  }
  bool all_left() const {
    return std::ranges::all_of(
        everyone(), [&](int worker) { return left_.contains(worker) || gone_.contains(worker); });
  }
  /// The workers that were expected, and those that joined unexpectedly.
  std::set<int> everyone() const {
    std::set<int> all = expected_;
    for (const auto& [worker, hello] : workers_) all.insert(worker);
    return all;
  }

  FarmStatus status() const {
    FarmStatus status{.cells = cells_,
                      .done = result_.done,
                      .ended = result_.ended,
                      .running = static_cast<int>(running_.size()),
                      .draining = dispatcher_.draining(),
                      .now = clock_.now(),
                      .skus = dispatcher_.status(clock_.now())};
    for (const SkuStatus& sku : status.skus) status.waiting += sku.waiting;
    return status;
  }

  worker::Channel& channel_;
  const engine::Clock& clock_;
  FarmSink& sink_;
  const FarmOptions& options_;
  Dispatcher dispatcher_;
  std::set<int> expected_;  // the workers of the start, and those that take the place of others
  int cells_;
  std::map<int, worker::Hello> workers_;
  std::map<int, RunningCell> running_;  // by worker
  std::set<int> stopped_;               // told to leave
  std::set<int> left_;                  // said goodbye
  std::set<int> gone_;                  // could not be reached
  FarmResult result_;
  int handled_interruptions_ = 0;
  std::optional<Nanos> overlap_until_;  // when two cells last ran at once
  std::optional<Nanos> last_tick_;
  std::optional<Nanos> last_status_;
};

}  // namespace

FarmResult run_farm(worker::Channel& channel, const engine::Clock& clock,
                    const std::vector<CellTask>& cells, FarmSink& sink,
                    const FarmOptions& options) {
  return Farm(channel, clock, cells, sink, options).run();
}

ExitCode exit_code(const FarmResult& result) {
  const auto left_for = [&](LeftCell::Why why) {
    return std::count_if(result.left.begin(), result.left.end(),
                         [&](const LeftCell& cell) { return cell.why == why; });
  };
  const auto without_worker =
      left_for(LeftCell::Why::no_worker) + left_for(LeftCell::Why::wrong_server);
  if (static_cast<std::size_t>(without_worker) < result.left.size()) return kIncomplete;
  if (without_worker > 0) return kNoSuchWorker;
  return result.failed > 0 ? kSomeCellsFailed : kOk;
}

}  // namespace driver
