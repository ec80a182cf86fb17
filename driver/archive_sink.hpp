#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "driver/farm.hpp"
#include "driver/plan.hpp"
#include "driver/progress.hpp"
#include "driver/space_wait.hpp"
#include "sweeps/archive.hpp"
#include "workers/host.hpp"

namespace driver {

/// Rows of the archive as planned, before anything has run.
std::vector<sweep::CellRecord> planned_records(const Plan& plan);

/// What the selected cells of a plan are expected to take, by plan index; those without the keys
/// `done`. Reads or generates their workloads, so that input that is wrong is refused before
/// anything is written.
std::map<int, double> expected_seconds(const Plan& plan, const std::set<std::string>& done);

/// What is left to do: the selected cells that can run and have no result; those in quarantine only
/// if they are to be tried again.
std::vector<CellTask> tasks_left(const Plan& plan, const std::map<int, double>& expected_s,
                                 const sweep::Archive& archive, bool retry_quarantined);

/// Puts what the farm reports into the archive; where there is no space left it waits for some.
class ArchiveSink final : public FarmSink {
 public:
  ArchiveSink(const Plan& plan, const std::string& profiles, sweep::Archive& archive,
              const SpaceWait& with_space, ProgressLine& progress);
  /// Cells that still run then, because of an exception, stay planned.
  ~ArchiveSink() override;
  ArchiveSink(const ArchiveSink&) = delete;
  ArchiveSink& operator=(const ArchiveSink&) = delete;

  void on_worker(int worker, const worker::Hello& hello) override;
  std::string config_of(int cell) override;
  void on_start(int cell, int attempt, const worker::Hello& worker) override;
  void on_done(int cell, int attempt, const worker::Hello& worker, std::string&& result) override;
  void on_attempt_ended(int cell, int attempt, const std::string& reason) override;
  void on_ended(int cell, int attempt, sweep::CellStatus kind, const std::string& reason) override;
  void on_stop_asked(std::optional<int> alone) override;
  void on_status(const FarmStatus& status) override;

 private:
  const sweep::CellRecord& record_of(int cell) const;
  void leave_mark(const sweep::RunMark& mark);

  std::map<int, const PlannedCell*> cells_;  // by plan index
  std::map<int, int> row_of_;                // plan index -> row of the archive
  std::map<int, sweep::RunMark> running_;    // by plan index
  std::string workers_;                      // which GPU each is, and on which node
  worker::Host self_ = worker::detect_host();
  std::string profiles_;
  std::vector<sweep::Expectation> expected_;  // of every result
  sweep::Archive& archive_;
  const SpaceWait& with_space_;
  ProgressLine& progress_;
  std::optional<Nanos> last_beat_;  // on the farm's clock
};

}  // namespace driver
