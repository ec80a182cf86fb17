#pragma once
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "workers/cell/progress.hpp"
#include "workers/cell/prompts.hpp"
#include "workers/engine/engine.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Plays the agents: each program's first turn arrives at its arrival time, every further turn when
/// all that it waits for has ended and its gap has passed: for a chain, `gap` after the last token
/// of the previous turn. Borrows the workload.
///
/// Turns due at the same instant arrive in the order of their jobs.
class Client {
 public:
  /// Takes a turn that has arrived. Its spans are valid until the turn has ended.
  using Submit = std::function<void(const engine::RequestSpec&)>;

  /// `arrivals`: by program. `most_live`: a program which arrives while so many are unfinished
  /// starts when one of them ends; 0: no limit.
  Client(const workload::Workload& workload, std::span<const engine::Nanos> arrivals, int most_live,
         int block_size, TokenUse use, Submit submit);
  Client(const workload::Workload& workload, std::span<const engine::Nanos> arrivals, int most_live,
         int block_size, TokenUse use, engine::Engine& engine)
      : Client(workload, arrivals, most_live, block_size, use,
               [&engine](const engine::RequestSpec& spec) { engine.submit(spec); }) {}

  /// From now on turns reach the engine so long after they are due, which is when they arrive.
  void set_latency(engine::Nanos latency) { latency_ = latency; }

  /// Every turn has ended, also those of subagents that nothing waits for.
  bool done() const { return unfinished_jobs_ == 0; }
  int programs() const { return workload_.programs(); }
  int finished_programs() const { return finished_programs_; }
  /// When the next turn reaches the engine; empty while every job waits for the engine.
  std::optional<engine::Nanos> next_due() const;
  void submit_due(engine::Nanos now);
  /// The turn's last token came at `now`.
  void on_finished(const engine::RequestSpec& turn, engine::Nanos now);

 private:
  struct TurnAt {
    std::uint32_t job;
    int turn;
    friend auto operator<=>(const TurnAt&, const TurnAt&) = default;
  };
  struct Due {
    engine::Nanos at;
    TurnAt turn;
    friend auto operator<=>(const Due&, const Due&) = default;
  };
  void start_programs(engine::Nanos now);
  void start(std::uint32_t root, engine::Nanos at);
  void end_wait(const TurnAt& turn, engine::Nanos now);
  engine::Nanos due_at(const TurnAt& turn, engine::Nanos now) const;
  engine::RequestSpec spec_of(const Due& due);

  const workload::Workload& workload_;
  std::span<const engine::Nanos> arrivals_;
  Submit submit_;
  Prompts prompts_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<std::uint32_t> roots_;               // by program
  std::vector<engine::Nanos> started_;             // by program
  std::vector<engine::Nanos> latest_start_;        // by job: of its latest turn
  std::vector<int> ended_;                         // by job: turns that have ended
  std::map<TurnAt, std::vector<TurnAt>> waiters_;  // turns of other jobs that wait for a turn
  std::map<TurnAt, int> waits_;                    // how many turns of other jobs are awaited still
  int most_live_;
  engine::Nanos latency_{0};
  std::size_t next_program_ = 0;  // the first that has not started
  int finished_programs_ = 0;
  int unfinished_jobs_;
};

/// Runs client and engine against each other until every job has ended. Throws CellAbandoned.
void serve(Client& client, engine::Engine& engine, engine::Clock& clock, const RunHooks& hooks);

}  // namespace worker
