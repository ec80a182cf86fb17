#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/dispatcher.hpp"
#include "driver/exit_codes.hpp"
#include "workers/channel.hpp"
#include "workers/worker_loop.hpp"

namespace driver {

/// A cell that runs right now.
struct RunningCell {
  int cell;
  int attempt;
  int worker;
  std::string host;
  Nanos started;  // on the farm's clock
  Nanos heard;    // the worker was last heard of
  worker::Progress progress;
};

/// Where a farm stands.
struct FarmStatus {
  int cells = 0;
  int done = 0;
  int ended = 0;  // without a result: failed, timed out, infeasible, quarantined
  int waiting = 0;
  int workers = 0;  // that have said hello
  bool draining = false;
  Nanos now{0};
  std::vector<SkuStatus> skus{};
  std::vector<RunningCell> running{};
  std::vector<std::string> missing_skus{};  // planned, and no worker is one

  /// The longest of the SKUs' times; empty while one is unknown.
  std::optional<double> eta_s() const;
};

/// What the farm asks and tells. Called by the driving thread. An exception ends the run: the
/// workers are stopped, then it goes on to the caller of run_farm().
class FarmSink {
 public:
  virtual ~FarmSink() = default;
  /// A worker takes part from now on.
  virtual void on_worker(int worker, const worker::Hello& hello) { (void)worker, (void)hello; }
  /// The configuration that the worker's RunCell is given.
  virtual std::string config_of(int cell) = 0;
  /// About to start; nothing of this attempt has happened yet.
  virtual void on_start(int cell, int attempt, const worker::Hello& worker) = 0;
  /// The result is durable when this returns; only then does the worker get another cell.
  virtual void on_done(int cell, int attempt, const worker::Hello& worker,
                       std::string&& result) = 0;
  /// The attempt failed and will be repeated, or was abandoned and the cell stays planned.
  virtual void on_attempt_ended(int cell, int attempt, const std::string& reason) = 0;
  /// The cell is over without a result. Attempt 0: it was never started.
  virtual void on_ended(int cell, int attempt, sweep::CellStatus kind,
                        const std::string& reason) = 0;
  /// The user asks to stop; or the launcher does, because it has lost a process. `alone` is the
  /// cell that runs, if no other did since its worker was last heard of.
  virtual void on_stop_asked(std::optional<int> alone) { (void)alone; }
  /// About twice a second, and once at the end.
  virtual void on_status(const FarmStatus&) {}
};

struct FarmOptions {
  DispatchRules rules{};
  std::vector<int> workers{};  // their ends of the channel; rules.workers is set to their number
  Nanos status_period = std::chrono::milliseconds(500);
  Nanos tick = std::chrono::milliseconds(100);
  Nanos longest_sleep = std::chrono::milliseconds(50);
  Nanos goodbye_grace = std::chrono::seconds(15);  // for the workers to leave
  /// How often the user has asked to stop: once drains, twice stops now.
  std::function<int()> interruptions = [] { return 0; };
  /// An exception is about to end the farm, and workers stay behind as in FarmResult.
  std::function<void()> on_stuck = [] {};
};

struct FarmResult {
  int done = 0;
  int ended = 0;   // without a result
  int failed = 0;  // of these: failed, timed out or quarantined
  std::vector<LeftCell> left;
  /// Workers that did not leave, or whose cell did not stop: their processes have to be ended
  /// (MPI_Abort, or std::_Exit when they are threads of this one).
  std::vector<int> stuck_workers;
};

/// Drives: gives the cells to the workers at the other ends until each is over or left, then stops
/// the workers. Sleeps between messages. Throws what the sink throws, and worker::ChannelError or
/// worker::ProtocolError when the channel itself is broken.
FarmResult run_farm(worker::Channel& channel, const engine::Clock& clock,
                    const std::vector<CellTask>& cells, FarmSink& sink, const FarmOptions& options);

/// The same in one process: drives, and works on one further thread.
FarmResult run_alone(const std::vector<CellTask>& cells, FarmSink& sink, FarmOptions options,
                     const worker::Hello& hello, const worker::RunCell& run_cell,
                     const worker::WorkerOptions& worker_options = {});

/// kNoSuchWorker where a planned SKU has no worker and nothing else is left, kIncomplete where
/// cells are left, kSomeCellsFailed, or kOk.
ExitCode exit_code(const FarmResult& result);

}  // namespace driver
