#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sweeps/tables/result.hpp"
#include "sweeps/tables/schema.hpp"
#include "sweeps/tables/status.hpp"
#include "workers/engine/step/step.hpp"
#include "workers/record/growing_table.hpp"
#include "workers/record/turn_tables.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

sweep::ForwardKind forward_of(const sweep::StepRow& row);

/// Converts the engine's traces into the tables of a cell.
class Recorder final : public engine::TraceSink {
 public:
  /// The reasons are those from sweep::kReasonsOfRules on, by name. Throws std::logic_error for
  /// one that is the archive's own. Below the level all, /sched, which no figure needs, stays
  /// empty.
  Recorder(const workload::Workload& workload, std::int64_t bytes_per_block, int block_size,
           std::vector<std::string> own_reasons = {},
           sweep::RecordLevel level = sweep::RecordLevel::all);

  void on_step(const engine::StepTrace& trace) override;

  /// The tables, once; the caller adds figures and notes.
  sweep::CellResult take_tables();

 private:
  /// The last preemption of a job's turn, until the turn is preempted again or ends.
  struct OpenEviction {
    int row = -1;  // in evictions_
    bool resumed = false;
    engine::Nanos recomputed_until{0};  // the turn's recompute time when it was preempted
  };

  void record_step(const engine::StepTrace& trace);
  void record_shares(const engine::StepPlan& plan, sweep::StepRow& row) const;
  void record_schedule(const engine::StepPlan& plan);
  void record_kv_events(const engine::StepTrace& trace);
  void record_evictions(const engine::StepTrace& trace);
  void record_swap(const engine::KvEvent& event, const engine::TransferStats& copies);
  void end_eviction(const engine::Request& request);
  void record_turn(const engine::Request& request, double finish_s);

  TurnTables turns_;
  std::int64_t bytes_per_block_;
  int block_size_;
  std::vector<std::string> own_reasons_;
  sweep::RecordLevel level_;
  GrowingTable<sweep::StepRow> steps_;
  GrowingTable<sweep::SchedRow> sched_;
  GrowingTable<sweep::KvEventRow> kv_events_;
  std::vector<sweep::EvictionRow> evictions_;
  std::vector<OpenEviction> open_;  // by job
};

}  // namespace worker
