#pragma once
#include <vector>

#include "sweeps/tables/result.hpp"
#include "sweeps/tables/schema.hpp"
#include "workers/engine/base/request.hpp"
#include "workers/record/growing_table.hpp"
#include "workers/workload/trajectory.hpp"

namespace worker {

/// /jobs and /turns while a cell runs. Rows name a job by its program, and a turn by its number
/// there.
class TurnTables {
 public:
  explicit TurnTables(const workload::Workload& workload);

  std::int32_t program_of(engine::JobId job) const {
    return static_cast<std::int32_t>(workload_.program_of(engine::index(job)));
  }
  std::int32_t number_of(engine::JobId job, int turn) const {
    return workload_.number_of(engine::index(job), turn);
  }
  /// A row with what client and workload know of a turn; its other columns are not observed.
  sweep::TurnRow row_of(const engine::RequestSpec& spec) const;
  /// Adds a turn that has ended, and its part of the job. `tokens_at_first`: of its output, with
  /// its first token.
  void add(const engine::RequestSpec& spec, sweep::TurnRow row, double tokens_at_first = 1);
  void take(sweep::CellResult& result) &&;

 private:
  const workload::Workload& workload_;
  std::vector<sweep::JobRow> jobs_;  // by program
  GrowingTable<sweep::TurnRow> turns_;
};

}  // namespace worker
