#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "workers/cell/progress.hpp"
#include "workers/engine/engine.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Whether the backend reads tokens. A simulation needs only how many there are.
enum class TokenUse : std::uint8_t { read, counted };

/// Tokens and block hashes of turns. A workload that holds its tokens is hashed at construction;
/// prompts made on demand exist from begin() until end() of their turn, and the hashes of a turn
/// until the job's next turn, which extends them. No hashes outlive the end() of a job's last turn.
/// Where tokens made on demand are only counted, all turns share placeholders of the right length.
class Prompts {
 public:
  Prompts(const workload::Workload& workload, int block_size, TokenUse use);

  /// Sets prompt, answer and hashes of a turn. One turn of a job at a time.
  void begin(std::uint32_t job, int turn, engine::RequestSpec& spec);
  void end(std::uint32_t job, int turn);

 private:
  struct Made {
    std::vector<engine::TokenId> tokens;
    std::vector<engine::BlockHash> hashes;
  };
  void make(std::uint32_t job, int turn, Made& made);
  void hash(std::uint32_t job, int turn, Made& made) const;
  void release(std::vector<engine::TokenId>& tokens);

  const workload::Workload& workload_;
  std::size_t block_size_;
  std::vector<Made> made_;                            // by job
  std::vector<std::vector<engine::TokenId>> unused_;  // buffers of ended turns, a few
  std::vector<engine::TokenId> placeholders_;         // as many as the longest turn has
};

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
