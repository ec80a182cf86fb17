#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/farm/dispatch_state.hpp"
#include "driver/farm/memory_ledger.hpp"

namespace driver {

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
class Dispatcher : DispatchState {
 public:
  Dispatcher(const std::vector<CellTask>& cells, DispatchRules rules);

  /// `now` never decreases.
  std::vector<Command> on(const Event& event, Nanos now);
  /// Whether a result from this worker would count: only that of the attempt that it runs.
  bool expects(int worker, sweep::Attempt attempt) const;
  /// All cells are over or left, and the workers have been told to stop.
  bool finished() const { return finished_; }
  /// The only running cell, if no other cell has run since its worker's last heartbeat. If its
  /// process is gone, that cell killed it.
  std::optional<int> cell_alone() const;
  /// In plan order; complete once finished.
  std::vector<LeftCell> left() const;
  /// The SKUs of the workers: "a100-80gb", or "a100-80gb, h200-141gb".
  std::string worker_skus() const;
  /// Without what has ended.
  FarmStatus status(Nanos now) const;

 private:
  enum class Repeats { elsewhere, anywhere };  // where a failed attempt may be retried
  enum class Memory { kept, freed };           // kept: what AssignCell let the worker keep

  void handle(const Letter<worker::Hello>& joined);
  void handle(const Letter<worker::Heartbeat>& heard);
  void handle(const worker::GoneEnd& lost);
  void handle(const Letter<worker::Done>& done);
  void handle(const Letter<worker::Failed>& failed);
  void handle(const Letter<worker::Abandoned>& abandoned);
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

  bool matches(const Worker& worker, const std::string& sku) const;
  bool everyone_known() const;
  int busy_workers() const;
  /// Whether this busy worker is the only one, and no other has been lost since its last heartbeat.
  bool is_alone(const Worker& worker) const;

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
  int done_ = 0;
  std::optional<Nanos> overlap_until_;  // when two cells last ran at once
  std::optional<Nanos> lost_busy_;      // when a busy worker was last lost, by the listening clock
  int successors_ = 0;                  // of lost workers, whether they have joined or not
  Nanos hello_since_{0};  // since when joining workers are waited for, by the listening clock
  bool hello_over_ = false;
  bool roster_changed_ = true;  // workers changed since end_infeasible() last ran
  bool draining_ = false;
  bool finished_ = false;
};

}  // namespace driver
