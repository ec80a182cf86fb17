#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/farm/dispatch_messages.hpp"
#include "driver/farm/memory_ledger.hpp"

namespace driver {

/// A cell that this run leaves planned.
struct LeftCell {
  enum class Why { no_worker, wrong_server, no_time, drained, workers_lost, machine_fault };
  int cell;
  Why why;
  std::string reason;
};

/// Cells of one SKU.
struct SkuStatus {
  std::string sku;
  int waiting = 0;
  int running = 0;
  int over = 0;     // done or ended without a result
  int workers = 0;  // alive and able to run them
  /// Time until all of them are over if the workers share the work evenly. Sums the estimates,
  /// scaled by measured over estimated time of the cells that are done. Empty while unknown.
  std::optional<double> eta_s;
};

/// Decides which worker runs which cell. Pure: events in, commands out. Events carry the time, and
/// the caller executes the commands. Every cell is done or ended exactly once, or left.
///
/// Cells with the longest estimate start first. A worker gets cells of its own SKU. A node's memory
/// is never exceeded, and no cell starves while it waits for memory (MemoryLedger). A failed
/// attempt is retried, on another worker if one is able to; a timeout is not. A cell without
/// progress has failed. An attempt that ends by a fault of the machine does not count as a failure
/// of the cell: it is retried equally often, and then the cell is left. A silent worker is lost,
/// but the host memory of its cell stays charged, since the process may be alive; if the worker
/// answers later, it is used again. When a group's server is not the planned one, those of its
/// cells that do not run are left. These timers count only time in which the caller was listening
/// (a Tick at least once a second).
class Dispatcher {
 public:
  Dispatcher(const std::vector<CellTask>& cells, DispatchRules rules);

  /// `now` never decreases.
  std::vector<Command> on(const Event& event, Nanos now);
  /// Whether a result from this worker would count: only that of the attempt that it runs.
  bool expects(int worker, sweep::Attempt attempt) const;
  /// All cells are over or left, and the workers have been told to stop.
  bool finished() const { return finished_; }
  bool draining() const { return draining_; }
  /// In plan order; complete once finished.
  std::vector<LeftCell> left() const;
  /// The SKUs of the workers: "a100-80gb", or "a100-80gb, h200-141gb".
  std::string worker_skus() const;
  std::vector<SkuStatus> status(Nanos now) const;

 private:
  enum class CellState { waiting, running, over, left };
  enum class WorkerState { idle, busy, lost, unusable };
  enum class AbandonWhy { timeout, stalled, drain };
  enum class Repeats { elsewhere, anywhere };  // where a failed attempt may be retried
  enum class Memory { kept, freed };           // kept: what AssignCell let the worker keep

  struct Cell {
    explicit Cell(const CellTask& task) : task(task) {}
    CellTask task;
    CellState state = CellState::waiting;
    int tries = 0;
    int machine_faults = 0;  // tries that ended by one
    std::set<int> tried_on;
    std::optional<LeftCell> left;
  };
  struct Abandonment {
    AbandonWhy why;
    Nanos asked;  // on the listening clock
  };
  struct Run {
    sweep::Attempt attempt;
    std::vector<int> more;  // cells of the same attempt
    Nanos started;
    Nanos progressed;  // on the listening clock
    bool serving = false;
    std::optional<Abandonment> abandonment{};
    std::vector<int> cells() const {
      std::vector<int> all = more;
      all.push_back(attempt.cell);
      return all;
    }
  };
  struct Worker {
    explicit Worker(const WorkerCaps& caps) : caps(caps) {}
    WorkerCaps caps;
    WorkerState state = WorkerState::idle;
    std::optional<Run> run;  // busy: its cell; lost: the cell that it may still run
    Nanos heard{0};          // on the listening clock
  };
  // Measured and estimated run time of the cells that are done.
  struct Experience {
    int cells = 0;
    double taken_s = 0;
    double estimated_s = 0;
  };
  // Longest first, then by group and in plan order.
  struct Place {
    double minus_estimate_s;
    int group;
    int cell;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  void handle(const WorkerJoined& joined);
  void handle(const WorkerHeard& heard);
  void handle(const WorkerLost& lost);
  void handle(const CellDone& done);
  void handle(const CellFailed& failed);
  void handle(const CellAbandoned& abandoned);
  void handle(const Tick&);
  void handle(const Drain&);
  void handle(const StopNow&);

  void quarantine_killers();
  void settle();
  void end_infeasible();
  void assign_all(Repeats repeats);
  std::optional<int> pick(int worker, const Worker& on, Repeats repeats);
  bool may_take(int worker, const Worker& on, const Cell& cell, Repeats repeats) const;
  bool runs_group(int group) const;
  bool other_could(const Cell& cell) const;
  bool in_time(double estimate_s, Nanos started) const;
  void assign(int worker, Worker& on, int cell);
  std::vector<int> small_neighbors(const Worker& on, const Cell& of) const;
  void begin(int worker, Cell& cell);
  void retry_separately(const Run& run, const std::string& reason);
  bool keeps_memory(int worker, const Worker& on, const CellTask& task) const;
  void finish();
  LeftCell why_left(const Cell& cell) const;
  double expected_s(const Cell& cell) const;
  /// Counts all SKUs until a cell of this one is done.
  Experience experience_with(const std::string& sku) const;

  Run end_run(int worker, Worker& on, WorkerState next, Memory memory);
  void revive(int worker, sweep::Attempt attempt, WorkerState next, Memory memory);
  void attempt_failed(const Run& run, const std::string& reason);
  void machine_failed(const Run& run, const std::string& reason);
  void group_refused(const Run& run, const std::string& reason);
  void attempt_abandoned(const Run& run, const std::string& reason);
  void end_cell(sweep::Attempt last, sweep::CellStatus kind, const std::string& reason);
  void wait_again(Cell& cell);
  /// `alone`: only its own cell can have ended it.
  void lose(Worker& worker, const std::string& how, bool alone);
  void abandon(int worker, Worker& on, AbandonWhy why);
  void watch(int worker, Worker& on);
  Nanos patience(const Run& run) const;

  static bool is_alive(const Worker& worker) {
    return worker.state == WorkerState::idle || worker.state == WorkerState::busy;
  }
  bool matches(const Worker& worker, const std::string& sku) const;
  bool everyone_known() const;
  int busy_workers() const;
  /// Whether this busy worker is the only one, and no other has been lost since its last heartbeat.
  bool is_alone(const Worker& worker) const;
  Place place_of(const Cell& cell) const {
    return {-std::max(cell.task.group_s, cell.task.estimate_s), cell.task.group, cell.task.cell};
  }

  DispatchRules rules_;
  std::map<int, Cell> cells_;
  std::map<std::string, std::set<Place>> waiting_;  // by SKU
  std::map<int, Worker> workers_;
  std::map<std::string, Experience> experience_;  // by SKU
  std::map<int, std::string> refused_;            // groups whose server is not the planned one
  MemoryLedger memory_;
  std::vector<Command> commands_;
  Nanos now_{0};
  Nanos last_tick_{0};
  Nanos listened_{0};  // the listening clock: advances only while ticks arrive
  bool opened_ = false;
  std::optional<Nanos> lost_busy_;  // when a busy worker was last lost, by the listening clock
  int successors_ = 0;              // of lost workers, whether they have joined or not
  Nanos hello_since_{0};  // since when joining workers are waited for, by the listening clock
  bool hello_over_ = false;
  bool roster_changed_ = true;  // workers changed since end_infeasible() last ran
  bool draining_ = false;
  bool finished_ = false;
};

}  // namespace driver
