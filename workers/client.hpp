#pragma once
#include <exception>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <stop_token>
#include <vector>

#include "workers/engine/engine.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Plays the agents: each job's first turn arrives at its time, every further turn when its tool
/// has run, `gap` after the last token of the turn before. Borrows workload and engine.
///
/// All prompts are hashed at construction. Turns that are due at the same instant arrive in the
/// order of their jobs.
class Client {
 public:
  Client(const workload::Workload& workload, std::span<const engine::Nanos> arrivals,
         int block_size, engine::Engine& engine);

  bool done() const { return unfinished_jobs_ == 0; }
  int jobs() const { return static_cast<int>(workload_.jobs.size()); }
  int finished_jobs() const { return jobs() - unfinished_jobs_; }
  /// When the next turn is due; empty while every job waits for the engine.
  std::optional<engine::Nanos> next_due() const;
  void submit_due(engine::Nanos now);
  void on_finished(const engine::Request& request, engine::Nanos now);

 private:
  struct Due {
    engine::Nanos at;
    std::uint32_t job;
    int turn;
    friend auto operator<=>(const Due&, const Due&) = default;
  };
  engine::RequestSpec spec_of(const Due& due) const;

  const workload::Workload& workload_;
  std::span<const engine::Nanos> arrivals_;
  engine::Engine& engine_;
  std::vector<std::vector<engine::BlockHash>> hashes_;  // by job, over all its tokens
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  int unfinished_jobs_;
};

/// Of a running cell. Before and after its steps (weights, host memory, tables) it does not change.
struct Progress {
  int finished_jobs = 0;
  int jobs = 0;
  std::uint64_t steps = 0;
  double now_s = 0;      // on the cell's clock
  bool serving = false;  // from the first step to the last
  friend bool operator==(const Progress&, const Progress&) = default;
};
using ProgressFn = std::function<void(const Progress&)>;

/// What surrounds a running cell.
struct RunHooks {
  ProgressFn progress;   // called after every step, and every few seconds without one
  std::stop_token stop;  // looked at before every step
};

/// The cell stopped at a step boundary because it was asked to.
struct CellAbandoned : std::exception {
  const char* what() const noexcept override { return "abandoned"; }
};

/// Runs client and engine against each other until every job is done. Throws CellAbandoned.
void serve(Client& client, engine::Engine& engine, engine::Clock& clock, const RunHooks& hooks);

}  // namespace worker
