#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sweeps/tables/result.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {

/// Finds rows of /turns by job and turn, and names requests as traces do: "<job id>:<turn>".
class TurnNames {
 public:
  /// Throws std::logic_error when /turns names a job that /jobs lacks. Borrows the result.
  explicit TurnNames(const sweep::CellResult& result);

  std::size_t size() const { return requests_.size(); }
  std::optional<std::size_t> find(std::int32_t job, std::int32_t turn) const;
  /// Throws std::logic_error if there is no such turn.
  std::size_t row_of(std::int32_t job, std::int32_t turn) const;

  const std::string& job(std::int32_t job) const;
  const std::string& job_of_row(std::size_t row) const { return job(job_of_turn_[row]); }
  const std::string& request_of_row(std::size_t row) const { return requests_[row]; }
  /// Works for turns that /turns lacks as well, e.g. unfinished ones.
  std::string request(std::int32_t job, std::int32_t turn) const;

 private:
  const std::vector<std::int32_t>& job_of_turn_;
  std::unordered_map<std::int32_t, std::string> jobs_;
  std::unordered_map<std::uint64_t, std::size_t> rows_;
  std::vector<std::string> requests_;  // by row of /turns
};

/// The tier that a job's lost KV was in.
enum class LostFrom : std::uint8_t { nowhere, gpu, host };

/// Replays /kv_events to the state of a step that /steps describes: which jobs hold pins, and which
/// jobs have lost KV.
class KvReplay {
 public:
  /// The result must outlive the replay.
  explicit KvReplay(const sweep::CellResult& result)
      : result_(result), events_(result.kv_events.rows()) {}

  /// Applies the events up to the snapshot of this row of /steps; rows must not decrease. An event
  /// of the step itself is before the snapshot if its time is the step's start (scheduling), and
  /// after it otherwise (the end of turns). Throws std::logic_error when pinned_jobs differs from
  /// the replayed pins.
  void advance_to(std::size_t step_row);

  const std::set<std::int32_t>& pinned_jobs() const { return pinned_; }
  /// The last tier that lost blocks of the job at this time or later.
  LostFrom lost_since(std::int32_t job, double time_s) const;

 private:
  void apply();

  const sweep::CellResult& result_;
  std::size_t events_;
  sweep::TableRow event_{result_.kv_events, 0};  // the next one
  std::set<std::int32_t> pinned_;
  std::unordered_map<std::int32_t, double> evicted_from_gpu_s_, evicted_from_host_s_;
};

/// Which requests run and which wait in every step, replayed from /sched and the times in /turns.
/// Requests are rows of /turns.
///
/// The state is that of the numbers in /steps: after the step's admissions and preemptions, before
/// its execution. A turn is present from its arrival until after the last step that computes it.
/// The cost of next() depends on the number of changes, not of requests.
///
/// Running requests are in order of their (latest) admission. Waiting requests are in order of
/// arrival, with preempted ones in front. Requests with KV in loading (n_loading) are among them.
/// For policies with another queue order the tables do not contain the order of waiting requests.
class QueueReplay {
 public:
  using Requests = std::list<std::size_t>;

  /// Both must outlive the replay.
  QueueReplay(const sweep::CellResult& result, const TurnNames& names);

  /// Advances to the next row of /steps; false if there is none. Throws std::logic_error when the
  /// tables contradict each other, e.g. when n_running differs from the running requests. A server
  /// counts what has reached its scheduler, a few ms after a turn's arrival: its counts may differ.
  bool next();

  std::size_t step_row() const { return step_row_; }
  const Requests& running() const { return running_; }
  const Requests& waiting() const { return waiting_; }
  /// The rows of /sched that belong to the step.
  std::size_t first_sched() const { return first_sched_; }
  std::size_t last_sched() const { return next_sched_; }  // one past the end
  std::size_t turn_of_sched(std::size_t sched_row) const { return turn_of_sched_[sched_row]; }

 private:
  enum class State : std::uint8_t { not_there, waiting, running, done };

  void remove_finished();
  void add_arrivals();
  void arrive(std::size_t turn);
  void apply_schedule();
  void apply(std::size_t sched_row);
  void require(std::size_t turn, State state) const;
  void check_counts() const;
  [[noreturn]] void fail(const std::string& what) const;

  sweep::TableRow step() const { return {result_.steps, step_row_}; }
  std::int64_t number() const { return step().at<std::int64_t>("step"); }
  std::int32_t expected_to_wait() const {
    return step().count("n_waiting") + step().count("n_loading");
  }

  const TurnNames& names_;
  const sweep::CellResult& result_;
  bool is_logged_;  // the steps are those of a server
  const std::vector<std::int64_t>& sched_step_;
  const std::vector<double>&arrive_s_, &finish_s_;
  const std::vector<std::int8_t>& kind_;

  std::vector<std::size_t> turn_of_sched_;
  std::vector<std::size_t> last_share_;  // by turn: its last row of /sched
  std::vector<std::size_t> arrivals_;    // turns by arrival
  std::vector<State> state_;             // by turn
  std::vector<Requests::iterator> place_;
  Requests running_, waiting_;
  std::vector<std::size_t> finished_;  // turns that end with the current step
  std::size_t steps_done_ = 0, step_row_ = 0, next_arrival_ = 0;
  std::size_t first_sched_ = 0, next_sched_ = 0;
};

}  // namespace analysis
