#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/command_line/failure.hpp"
#include "driver/farm/dispatcher.hpp"
#include "workers/rank/channel.hpp"

namespace driver {

/// Callbacks of the farm, made on the driving thread. An exception ends the run: the workers are
/// stopped, then it propagates to the caller of run_farm().
class FarmSink {
 public:
  virtual ~FarmSink() = default;
  virtual void on_worker(int worker, const worker::Hello& hello) { (void)worker, (void)hello; }
  /// The configuration that is passed to the worker's RunCell, which runs these cells.
  virtual std::string config_of(const std::vector<int>& cells) = 0;
  /// Called before the attempt starts.
  virtual void on_start(const AssignCell& start, const worker::Hello& worker) = 0;
  /// Must return only when the result is durable; the worker gets its next cell after that.
  virtual void on_done(sweep::Attempt attempt, const worker::Hello& worker,
                       std::string&& result) = 0;
  virtual void on_attempt_ended(const AttemptEnded& ended) = 0;
  virtual void on_ended(const CellEnded& ended) = 0;
  /// The user asks to stop, or the launcher does because it lost a process. `alone` is the running
  /// cell, if no other cell has run since its worker's last heartbeat.
  virtual void on_stop_asked(std::optional<int> alone) { (void)alone; }
  /// About twice a second, and once at the end.
  virtual void on_status(const FarmStatus&) {}
};

struct FarmOptions {
  DispatchRules rules{};
  std::vector<int> workers{};  // their channel addresses; rules.workers is set to their number
  Nanos status_period = std::chrono::milliseconds(500);
  Nanos tick = std::chrono::milliseconds(100);
  Nanos longest_sleep = std::chrono::milliseconds(50);
  Nanos goodbye_grace = std::chrono::seconds(15);  // for the workers to leave
  /// How often the user has asked to stop: one request drains, the second stops running cells.
  std::function<int()> interruptions = [] { return 0; };
  /// An exception is about to end the farm while workers are stuck, as in FarmResult.
  std::function<void()> on_stuck = [] {};
};

struct FarmResult {
  int done = 0;
  int ended = 0;   // without a result
  int failed = 0;  // part of `ended`: failed, timed out or quarantined
  std::vector<LeftCell> left;
  /// Workers that did not leave or could not stop their cell. The caller must end their processes.
  std::vector<int> stuck_workers;
};

/// Assigns the cells to the workers on the channel until each cell is over or left, then stops the
/// workers. Sleeps between messages. Rethrows what the sink throws; throws worker::ChannelError or
/// worker::ProtocolError when the channel itself is broken, and worker::InputError or
/// std::runtime_error when a worker says why it cannot serve.
FarmResult run_farm(worker::Channel& channel, const engine::Clock& clock,
                    const std::vector<CellTask>& cells, FarmSink& sink, const FarmOptions& options);

/// kNoSuchWorker if every cell that is left has a SKU or a server without a worker, kIncomplete if
/// other cells are left, kSomeCellsFailed if none is left but some failed, else kOk.
ExitCode exit_code(const FarmResult& result);

}  // namespace driver
