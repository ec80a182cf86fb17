#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "sweeps/tables/status.hpp"

namespace worker {

/// Progress of a running cell. Does not change before and after its steps (weights, host memory,
/// tables).
struct Progress {
  int finished_jobs = 0;
  int jobs = 0;
  std::uint64_t steps = 0;
  double now_s = 0;      // on the cell's clock
  bool serving = false;  // from the first step to the last
  friend bool operator==(const Progress&, const Progress&) = default;
};
using ProgressFn = std::function<void(const Progress&)>;

/// Callbacks of a running cell.
struct RunHooks {
  ProgressFn progress;          // called after every step, and every few seconds without one
  std::stop_token stop;         // checked before every step
  std::string server_log = {};  // file for the output of a cell's server; empty: a temporary one
  sweep::RecordLevel record = sweep::RecordLevel::all;  // tables above it need no rows
};

/// The cell stopped at a step boundary on request.
struct CellAbandoned : std::exception {
  const char* what() const noexcept override { return "abandoned"; }
};

/// The cell's server is of another version, model or size than planned. So would the server of
/// every cell that is started alike be.
struct WrongServer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace worker
