#pragma once
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "sweeps/status.hpp"
#include "workers/channel.hpp"
#include "workers/client.hpp"

namespace worker {

/// What a running cell is given besides its configuration.
struct CellContext {
  int cell;
  int attempt;
  std::stop_token stop;  // asked for at step boundaries; when set, throw CellAbandoned
  ProgressFn progress;
  bool keep_memory = false;  // host memory stays for the next cell, if this one ends well
};

/// Runs a cell: configuration bytes in, result bytes out. Called on a thread of its own, one cell
/// at a time. Any exception is a failed cell with what() as its reason.
using RunCell = std::function<std::string(const std::string& config, const CellContext&)>;

/// The cell ended with a verdict other than `failed`, e.g. infeasible.
struct CellVerdict : std::runtime_error {
  CellVerdict(sweep::CellStatus kind, const std::string& reason)
      : std::runtime_error(reason), kind(kind) {}
  sweep::CellStatus kind;
};

/// The device's context is gone: this process can run no further cell.
struct DeviceLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct WorkerOptions {
  int driver = 0;  // its end of the channel
  engine::Nanos poll = std::chrono::milliseconds(20);
  engine::Nanos heartbeat = std::chrono::seconds(1);
  engine::Nanos stop_grace = std::chrono::seconds(10);  // for a cell to stop at a step boundary
};

/// How a worker's life ended. After `stuck` a cell's thread still runs: the caller leaves with
/// std::_Exit, without destroying what the cell may use.
enum class WorkerEnd { stopped, stuck };

/// Says hello, runs the cells it is assigned one after another, each on a thread of its own, and
/// returns after a stop. All messages pass through the calling thread, which sleeps between them
/// and stays off the cell's way: it looks for messages once in `poll` while a cell runs.
/// Throws ChannelError and ProtocolError.
WorkerEnd run_worker(Channel& channel, engine::Clock& clock, const Hello& hello,
                     const RunCell& run_cell, const WorkerOptions& options = {});

}  // namespace worker
