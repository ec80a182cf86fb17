#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace server {

/// Why a request that a step computes is in its batch.
enum class Taken : std::uint8_t { again, fresh, resumed };

/// A request's part of a step.
struct LoggedShare {
  std::size_t request = 0;  // in StepLog::ids
  Taken taken = Taken::again;
  int tokens = 0;
  int computed_before = 0;
};

struct LoggedVictim {
  std::size_t request = 0;
  int tokens = 0;  // that it had computed
};

struct LoggedLoad {
  std::size_t request = 0;  // in StepLog::ids
  int blocks = 0;
};

/// A step that computes, copies or preempts. Times are those of the monotonic clock.
struct LoggedStep {
  double start_s = 0, end_s = 0;  // of its own batch
  double plan_s = 0;              // that scheduling took
  int running = 0, waiting = 0;
  std::vector<LoggedShare> shares;  // in scheduled order
  std::vector<LoggedVictim> preempted;
  std::vector<LoggedLoad> loads;  // that begin
  int stored_blocks = 0;          // copies of them to host memory begin
};

/// The log that analysis/python/kvsweep/vllm.py writes inside a server, and describes in full. Its
/// first line is such as {"kvsweep_steps":3,"vllm":"0.26.0","async":true,"block_size":16,"t":17.5}.
struct StepLog {
  static constexpr int kVersion = 3;
  bool async = false;
  int block_size = 0;
  std::vector<std::string> ids;   // of requests
  std::vector<LoggedStep> steps;  // with a batch that is known to have ended
  bool idle = false;              // no request was left when the last line was written
  std::string problem;            // why steps are missing from the end; empty: none are
};

/// Now, on the clock of the log.
double monotonic_s();

/// Where the next line of the file begins.
std::int64_t end_of_lines(const std::string& path);

/// Steps from byte `from` and time `since_s` on. The first truncated or invalid line ends them;
/// `problem` says why. Throws std::runtime_error for a file that is no such log.
StepLog read_step_log(const std::string& path, std::int64_t from, double since_s);

}  // namespace server
