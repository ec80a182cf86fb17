#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "driver/farm/farm.hpp"
#include "driver/farm/progress.hpp"
#include "driver/farm/space_wait.hpp"
#include "driver/plan/plan.hpp"
#include "sweeps/commits/archive.hpp"
#include "workers/rank/host.hpp"

namespace driver {

/// Expected run time in seconds of each selected cell of the plan, by plan index, without the keys
/// in `done`. Reads or generates the workloads, so wrong input is refused before anything is
/// written.
std::map<int, double> expected_seconds(const Plan& plan, const std::set<std::string>& done);

/// The cells left to run: selected, able to run, and without a result at the plan's level.
/// Quarantined cells only with `retry_quarantined`.
std::vector<CellTask> tasks_left(const Plan& plan, const std::map<int, double>& expected_s,
                                 const sweep::Archive& archive, bool retry_quarantined);

/// The workers of a run; one_child: the only worker is a process that ends with the driver's.
enum class Crew { several, one_child };

/// Writes what the farm reports into the archive. Waits for space when the disk is full.
class ArchiveSink final : public FarmSink {
 public:
  ArchiveSink(const Plan& plan, const std::string& profiles, sweep::Archive& archive,
              const SpaceWait& with_space, ProgressLine& progress, Crew crew = Crew::several);
  /// Cells that still run because an exception ended the farm stay planned.
  ~ArchiveSink() override;
  ArchiveSink(const ArchiveSink&) = delete;
  ArchiveSink& operator=(const ArchiveSink&) = delete;

  void on_worker(int worker, const worker::Hello& hello) override;
  std::string config_of(const std::vector<int>& cells) override;
  void on_start(const AssignCell& start, const worker::Hello& worker) override;
  void on_done(sweep::Attempt attempt, const worker::Hello& worker, std::string&& result) override;
  void on_attempt_ended(const AttemptEnded& ended) override;
  void on_ended(const CellEnded& ended) override;
  void on_stop_asked(std::optional<int> alone) override;
  void on_status(const FarmStatus& status) override;

 private:
  const sweep::CellRecord& record_of(int cell) const;
  void leave_mark(sweep::RunMark mark, int deaths);

  const Plan& plan_;
  std::map<int, sweep::RunMark> running_;  // by plan index, which is the archive's row
  std::string workers_;                    // the GPU and node of each, for /provenance
  worker::Host self_ = worker::detect_host();
  std::string profiles_;
  sweep::Archive& archive_;
  const SpaceWait& with_space_;
  ProgressLine& progress_;
  Crew crew_;
  std::optional<Nanos> last_beat_;  // on the farm's clock
};

}  // namespace driver
