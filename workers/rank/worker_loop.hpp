#pragma once
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "sweeps/tables/status.hpp"
#include "workers/cell/progress.hpp"
#include "workers/rank/channel.hpp"

namespace worker {

/// Context of a running cell besides its configuration.
struct CellContext {
  sweep::Attempt attempt;
  std::stop_token stop;  // checked at step boundaries; on a request, throw CellAbandoned
  ProgressFn progress;
  bool keep_memory = false;  // keep host memory for the next cell, if this one ends well
};

/// Runs a cell: takes configuration bytes, returns result bytes. Called on a thread of its own, one
/// cell at a time. Any exception is a failed cell with what() as its reason.
using RunCell = std::function<std::string(const std::string& config, const CellContext&)>;

/// The cell ended with a status other than `failed`, e.g. infeasible.
struct CellVerdict : std::runtime_error {
  CellVerdict(sweep::CellStatus kind, const std::string& reason)
      : std::runtime_error(reason), kind(kind) {}
  sweep::CellStatus kind;
};

/// The device's context is lost: this process can run no further cell.
struct DeviceLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct WorkerOptions {
  int driver = 0;  // the driver's end of the channel
  engine::Nanos poll = std::chrono::milliseconds(20);
  engine::Nanos heartbeat = std::chrono::seconds(1);
  engine::Nanos stop_grace = std::chrono::seconds(10);  // for a cell to stop at a step boundary
};

/// How a worker ended. After `stuck` a cell's thread still runs: the caller must exit with
/// std::_Exit, without destroying anything that the cell may use.
enum class WorkerEnd { stopped, stuck };

/// Sends Hello, runs assigned cells one after another, each on a thread of its own, and returns
/// after a Stop. The calling thread handles all messages. It sleeps between them to leave the CPU
/// to the cell: while a cell runs it polls once per `poll`. Throws ChannelError and ProtocolError.
WorkerEnd run_worker(Channel& channel, engine::Clock& clock, const Hello& hello,
                     const RunCell& run_cell, const WorkerOptions& options = {});

}  // namespace worker
