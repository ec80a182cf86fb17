#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "driver/plan/plan.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {

/// From one configuration to another: "changed: engine.block_size 16 -> 32, workload.jobs 3 -> 4,
/// jps 1 -> 2 and 2 more".
inline std::string changes(const std::string& before, const std::string& now) {
  constexpr std::size_t kMost = 3;
  const auto differences =
      analysis::config_differences(analysis::parse_config(before), analysis::parse_config(now));
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, differences.size()); ++i) {
    text += (i == 0 ? "changed: " : ", ") + differences[i].key + ' ' +
            analysis::shown(differences[i].a) + " -> " + analysis::shown(differences[i].b);
  }
  if (differences.size() > kMost)
    text += " and " + std::to_string(differences.size() - kMost) + " more";
  return text;
}

/// An archive's knowledge of the cells of a plan.
class PlanHistory {
 public:
  /// Throws sweep::ArchiveIncompatible when the archive holds another sweep. `archive` must outlive
  /// this.
  PlanHistory(const sweep::ArchiveReader& archive, std::string path, const std::string& sweep_name)
      : archive_(archive), path_(std::move(path)) {
    if (archive.sweep_name() != sweep_name) {
      throw sweep::ArchiveIncompatible(path_ + " holds the sweep \"" + archive.sweep_name() +
                                       "\", not \"" + sweep_name + '"');
    }
    for (const sweep::CellRecord& cell : archive.cells()) {
      by_key_[cell.key] = &cell;
      by_label_[cell.label] = &cell;
    }
  }

  /// The cell's result, or nothing when it is still to run, for want of one at this level.
  std::optional<sweep::CellRecord> result_of(const PlannedCell& planned,
                                             sweep::RecordLevel level) const {
    if (const sweep::CellRecord* record = find(planned.key)) {
      if (record->has_result(level)) return *record;
      return std::nullopt;
    }
    // A result that an earlier plan dropped stays in a shard until a plan has its cell again.
    for (const sweep::CellRecord& record : archive_.further())
      if (record.key == planned.key && record.has_result(level)) return record;
    return std::nullopt;
  }
  /// Why a cell without a result will run: "not in the archive", "failed before: out of memory",
  /// "changed: engine.block_size 16 -> 32", ...
  std::string why_it_runs(const PlannedCell& planned) const {
    if (const sweep::CellRecord* record = find(planned.key)) {
      if (record->status == sweep::CellStatus::ok)
        return "stored at the level " + std::string(sweep::to_text(record->level));
      return record->status == sweep::CellStatus::planned ? "not run yet" : outcome(*record);
    }
    const auto like = by_label_.find(worker::label(planned.cell));
    if (like == by_label_.end()) return "not in the archive";
    if (was_kept_out(like->second->status)) return outcome(*like->second);
    return changes(like->second->config_json, planned.config_json());
  }
  /// Whether the cell killed its process too often.
  bool is_quarantined(const PlannedCell& planned) const {
    const sweep::CellRecord* record = find(planned.key);
    return record != nullptr && record->status == sweep::CellStatus::quarantined;
  }
  /// The plan's cells for an archive: those that are not selected stay excluded, or asked for by an
  /// earlier run, where the archive has them so. (A tuning excludes cells of candidates on which it
  /// has given up.)
  std::vector<sweep::CellRecord> records_of(const Plan& plan) const {
    std::vector<sweep::CellRecord> records = planned_records(plan);
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (plan.cells[i].selected || records[i].status != sweep::CellStatus::planned) continue;
      const sweep::CellRecord* record = find(records[i].key);
      if (record == nullptr || (record->status != sweep::CellStatus::excluded &&
                                record->status != sweep::CellStatus::planned))
        continue;
      records[i].status = record->status;
      records[i].reason = record->reason;
    }
    return records;
  }
  /// How many results the plan has no cell for.
  std::size_t unplanned(const Plan& plan) const {
    std::set<std::string> keys;
    for (const PlannedCell& planned : plan.cells) keys.insert(planned.key);
    return static_cast<std::size_t>(std::ranges::count_if(by_key_, [&](const auto& known) {
      return known.second->status == sweep::CellStatus::ok && !keys.contains(known.first);
    }));
  }

 private:
  static bool was_kept_out(sweep::CellStatus status) {
    return status == sweep::CellStatus::excluded || status == sweep::CellStatus::infeasible;
  }
  static std::string outcome(const sweep::CellRecord& record) {
    return std::string(sweep::to_text(record.status)) + " before: " + record.reason;
  }
  const sweep::CellRecord* find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

  const sweep::ArchiveReader& archive_;
  std::string path_;
  std::map<std::string, const sweep::CellRecord*> by_key_, by_label_;
};

}  // namespace driver
