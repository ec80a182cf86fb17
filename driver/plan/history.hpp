#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/plan/plan.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {

/// From one configuration to another: "changed: engine.block_size 16 -> 32, workload.jobs 3 -> 4,
/// jps 1 -> 2 and 2 more".
std::string changes(const std::string& before, const std::string& now);

/// An archive's knowledge of the cells of a plan.
class PlanHistory {
 public:
  /// Throws sweep::ArchiveIncompatible when the archive holds another sweep. `archive` must outlive
  /// this.
  PlanHistory(const sweep::ArchiveReader& archive, std::string path, const std::string& sweep_name);

  /// The cell's result, or nothing when it is still to run, for want of one at this level.
  std::optional<sweep::CellRecord> result_of(const PlannedCell& planned,
                                             sweep::RecordLevel level) const;
  /// Why a cell without a result will run: "not in the archive", "failed before: out of memory",
  /// "changed: engine.block_size 16 -> 32", ...
  std::string why_it_runs(const PlannedCell& planned) const;
  /// Whether the cell killed its process too often.
  bool is_quarantined(const PlannedCell& planned) const;
  /// The plan's cells for an archive: those that are not selected stay excluded, or asked for by an
  /// earlier run, where the archive has them so. (A tuning excludes cells of candidates on which it
  /// has given up.)
  std::vector<sweep::CellRecord> records_of(const Plan& plan) const;
  /// How many results the plan has no cell for.
  std::size_t unplanned(const Plan& plan) const;

 private:
  const sweep::CellRecord* find(const std::string& key) const;

  const sweep::ArchiveReader& archive_;
  std::string path_;
  std::map<std::string, const sweep::CellRecord*> by_key_, by_label_;
};

}  // namespace driver
