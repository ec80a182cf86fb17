#pragma once
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "workers/cell/progress.hpp"
#include "workers/engine/engine.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Plays the agents: each job's first turn arrives at its arrival time, every further turn when its
/// tool has run, `gap` after the last token of the previous turn. Borrows workload and engine.
///
/// All prompts are hashed at construction. Turns due at the same instant arrive in the order of
/// their jobs.
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

/// Runs client and engine against each other until every job has ended. Throws CellAbandoned.
void serve(Client& client, engine::Engine& engine, engine::Clock& clock, const RunHooks& hooks);

}  // namespace worker
