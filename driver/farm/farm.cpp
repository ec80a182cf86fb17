#include "driver/farm/farm.hpp"

#include "workers/cell/experiment.hpp"

namespace driver {
namespace {

using sweep::CellStatus;

DispatchRules rules_for(const FarmOptions& options) {
  DispatchRules rules = options.rules;
  rules.workers = static_cast<int>(options.workers.size());
  return rules;
}

class Farm {
 public:
  Farm(worker::Channel& channel, const engine::Clock& clock, const std::vector<CellTask>& cells,
       FarmSink& sink, const FarmOptions& options)
      : channel_(channel),
        clock_(clock),
        sink_(sink),
        options_(options),
        dispatcher_(cells, rules_for(options)),
        expected_(options.workers.begin(), options.workers.end()) {}

  FarmResult run() {
    try {
      while (!dispatcher_.finished()) round();
    } catch (...) {
      dismiss_workers();
      if (!result_.stuck_workers.empty()) options_.on_stuck();
      throw;
    }
    dismiss_workers();
    const FarmStatus last = status();
    result_.done = last.done;
    result_.left = dispatcher_.left();
    sink_.on_status(last);
    return std::move(result_);
  }

  // Messages ---------------------------------------------------------------------------------

  void on(int from, worker::Hello& hello) {
    refuse_shared_device(from, hello);
    sink_.on_worker(from, hello);
    expected_.insert(from);
    workers_.insert_or_assign(from, hello);
    dispatch(Letter<worker::Hello>{from, std::move(hello)});
  }
  void on(int from, worker::Done& done) {
    if (dispatcher_.expects(from, done.attempt))
      sink_.on_done(done.attempt, workers_.at(from), std::move(done.result));
    dispatch(Letter<worker::Done>{from, {done.attempt, {}}});
  }
  void on(int from, worker::Goodbye& goodbye) {
    take_leave(from, goodbye);
    if (goodbye.wrong_input) throw worker::InputError(goodbye.unable);
    if (!goodbye.unable.empty()) throw std::runtime_error(goodbye.unable);
  }
  template <class Message>
  void on(int from, Message& message) {
    if constexpr (std::is_constructible_v<Event, Letter<Message>>)
      dispatch(Letter<Message>{from, std::move(message)});
    else
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
    if (gone_.insert(end.number).second) dispatch(end);
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
      sink_.on_stop_asked(dispatcher_.cell_alone());
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
    sink_.on_start(assign, worker);
    tell(assign.worker, worker::Assign{assign.attempt, std::move(config), assign.keep_memory},
         losses);
  }
  void obey(const Letter<worker::Abandon>& abandon, std::deque<Event>& losses) {
    tell(abandon.worker, abandon.message, losses);
  }
  void obey(const Letter<worker::Stop>& stop, std::deque<Event>& losses) {
    if (stopped_.insert(stop.worker).second) tell(stop.worker, stop.message, losses);
  }
  void obey(const AttemptEnded& ended, std::deque<Event>&) { sink_.on_attempt_ended(ended); }
  void obey(const CellEnded& ended, std::deque<Event>&) {
    ++result_.ended;
    if (has_failed(ended.kind)) ++result_.failed;
    sink_.on_ended(ended);
  }

  void tell(int worker, const worker::Message& message, std::deque<Event>& losses) {
    try {
      channel_.send(worker, message);
    } catch (const worker::ChannelError&) {
      if (gone_.insert(worker).second) losses.push_back(worker::GoneEnd{worker});
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

  /// Stops every worker, including those that never said hello, and waits until they have left.
  void dismiss_workers() noexcept {
    std::deque<Event> losses;
    try {
      for (const int worker : expected_) obey(Letter<worker::Stop>{worker, {}}, losses);
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
    for (const int worker : expected_)
      if (!left_.contains(worker)) result_.stuck_workers.push_back(worker);
  }
  bool all_left() const {
    return std::ranges::all_of(
        expected_, [&](int worker) { return left_.contains(worker) || gone_.contains(worker); });
  }

  FarmStatus status() const {
    FarmStatus status = dispatcher_.status(clock_.now());
    status.ended = result_.ended;
    return status;
  }

  worker::Channel& channel_;
  const engine::Clock& clock_;
  FarmSink& sink_;
  const FarmOptions& options_;
  Dispatcher dispatcher_;
  std::set<int> expected_;  // workers of the start, those in place of others, and unexpected ones
  std::map<int, worker::Hello> workers_;
  std::set<int> stopped_;  // told to leave
  std::set<int> left_;     // said goodbye
  std::set<int> gone_;     // could not be reached
  FarmResult result_;
  int handled_interruptions_ = 0;
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
