#include "driver/plan/history.hpp"

#include "analysis/compare/config.hpp"

namespace driver {
namespace {

using sweep::CellRecord;
using sweep::CellStatus;

bool was_kept_out(CellStatus status) {
  return status == CellStatus::excluded || status == CellStatus::infeasible;
}

std::string outcome(const CellRecord& record) {
  return std::string(sweep::to_text(record.status)) + " before: " + record.reason;
}

}  // namespace

std::string changes(const std::string& before, const std::string& now) {
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

PlanHistory::PlanHistory(const sweep::ArchiveReader& archive, std::string path,
                         const std::string& sweep_name)
    : archive_(archive), path_(std::move(path)) {
  if (archive.sweep_name() != sweep_name) {
    throw sweep::ArchiveIncompatible(path_ + " holds the sweep \"" + archive.sweep_name() +
                                     "\", not \"" + sweep_name + '"');
  }
  for (const CellRecord& cell : archive.cells()) {
    by_key_[cell.key] = &cell;
    by_label_[cell.label] = &cell;
  }
}

const CellRecord* PlanHistory::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

std::optional<CellRecord> PlanHistory::result_of(const PlannedCell& planned,
                                                 sweep::RecordLevel level) const {
  if (const CellRecord* record = find(planned.key)) {
    if (record->has_result(level)) return *record;
    return std::nullopt;
  }
  // A result that an earlier plan dropped stays in a shard until a plan has its cell again.
  for (const CellRecord& record : archive_.further())
    if (record.key == planned.key && record.has_result(level)) return record;
  return std::nullopt;
}

bool PlanHistory::is_quarantined(const PlannedCell& planned) const {
  const CellRecord* record = find(planned.key);
  return record != nullptr && record->status == CellStatus::quarantined;
}

std::string PlanHistory::why_it_runs(const PlannedCell& planned) const {
  if (const CellRecord* record = find(planned.key)) {
    if (record->status == CellStatus::ok)
      return "stored at the level " + std::string(sweep::to_text(record->level));
    return record->status == CellStatus::planned ? "not run yet" : outcome(*record);
  }
  const auto like = by_label_.find(worker::label(planned.cell));
  if (like == by_label_.end()) return "not in the archive";
  if (was_kept_out(like->second->status)) return outcome(*like->second);
  return changes(like->second->config_json, planned.config_json());
}

std::vector<CellRecord> PlanHistory::records_of(const Plan& plan) const {
  std::vector<CellRecord> records = planned_records(plan);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (plan.cells[i].selected || records[i].status != CellStatus::planned) continue;
    const CellRecord* record = find(records[i].key);
    if (record == nullptr ||
        (record->status != CellStatus::excluded && record->status != CellStatus::planned))
      continue;
    records[i].status = record->status;
    records[i].reason = record->reason;
  }
  return records;
}

std::size_t PlanHistory::unplanned(const Plan& plan) const {
  std::set<std::string> keys;
  for (const PlannedCell& planned : plan.cells) keys.insert(planned.key);
  return static_cast<std::size_t>(std::ranges::count_if(by_key_, [&](const auto& known) {
    return known.second->status == CellStatus::ok && !keys.contains(known.first);
  }));
}

}  // namespace driver
