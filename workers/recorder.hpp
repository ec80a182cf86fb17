#pragma once
#include <cstdint>
#include <vector>

#include "sweeps/result.hpp"
#include "workers/engine/step.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// Turns what the engine does into the tables of a cell.
class Recorder final : public engine::TraceSink {
 public:
  Recorder(const workload::Workload& workload, std::int64_t bytes_per_block, int block_size);

  void on_step(const engine::StepTrace& trace) override;

  /// The tables so far; figures and notes are left to the caller.
  sweep::CellResult take_tables() const;

 private:
  void record_step(const engine::StepTrace& trace);
  void record_schedule(const engine::StepPlan& plan);
  void record_kv_events(const engine::StepTrace& trace);
  void record_turn(const engine::Request& request, double finish_s);

  const workload::Workload& workload_;
  std::int64_t bytes_per_block_;
  int block_size_;
  std::vector<sweep::JobRow> jobs_;  // by job
  sweep::TableBuilder<sweep::TurnRow> turns_;
  sweep::TableBuilder<sweep::StepRow> steps_;
  sweep::TableBuilder<sweep::SchedRow> sched_;
  sweep::TableBuilder<sweep::KvEventRow> kv_events_;
};

}  // namespace worker
