#include <algorithm>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/commits/archive.hpp"

namespace sweep {

namespace {

/// Whether an outcome in the archive counts under this plan. A result always does; a failure does
/// only if the plan runs the cell.
bool outcome_counts(const CellRecord& outcome, const CellRecord& plan) {
  return outcome.has_run() &&
         (outcome.status == CellStatus::ok || plan.status == CellStatus::planned);
}

/// Whether the two agree on the label and, for a cell that has not run, on status and reason.
bool same_plan(const CellRecord& a, const CellRecord& b) {
  return a.label == b.label && (a.has_run() || (a.status == b.status && a.reason == b.reason));
}

}  // namespace

void Archive::open(OpenMode mode) {
  for (const std::string& name : names_in(folder_)) {
    if (name.ends_with(".tmp")) files_.remove(in_folder(name));
  }
  if (mode == OpenMode::fresh) file_.move_aside();
  file_.look();
  if (file_.is_there()) {
    StoredCells archive = open_whole_archive(path_);
    archive.check();
    adopt(std::move(archive.index));
  } else {
    if (mode == OpenMode::resume) throw ArchiveError("there is no archive " + path_ + " to resume");
    if (path_exists(path_ + ".prev")) {
      throw ArchiveError(path_ + " is missing, but not " + path_ +
                         ".prev, what it was before its last change: `kvsweep salvage " + path_ +
                         " -o NEW.h5` saves the results of that and of shards; if " + path_ +
                         " was removed on purpose, remove " + path_ +
                         ".prev as well, or set it aside with `kvsweep run ... --fresh`");
    }
    // Readers find an archive from the start, and shards of a lost archive are kept.
    replace();
  }
  scan_shards();
  merge();
  deaths_ = marks_.take_over([this](const std::string& key) {
    return row_of_.contains(key) && !at(row_of_.at(key)).has_result(options_.record);
  });
}

/// Continues with the results of an archive under the new plan.
void Archive::adopt(ArchiveIndex found) {
  if (found.head.sweep_name != options_.sweep_name) {
    throw ArchiveIncompatible(
        path_ + " holds the sweep \"" + found.head.sweep_name + "\", not \"" + options_.sweep_name +
        "\"; name another with --archive, or move this one aside with --fresh");
  }
  for (const CellRecord& old : found.cells)
    if (old.status == CellStatus::ok && !row_of_.contains(old.key)) keep_result(old);
  const bool same_rows =
      std::ranges::equal(found.cells, index_.cells, {}, &CellRecord::key, &CellRecord::key);
  index_changed_ = !same_rows || found.head.spec_text != options_.spec_text;
  merged_ = static_cast<std::size_t>(std::ranges::count_if(found.cells, &CellRecord::has_run));
  for (CellRecord& old : found.cells) {
    const auto row = row_of_.find(old.key);
    if (row == row_of_.end()) continue;
    CellRecord& cell = at(row->second);
    index_changed_ = index_changed_ || !same_plan(old, cell) || old.kept != cell.kept;
    if (outcome_counts(old, cell)) take_outcome(cell, std::move(old));
  }
  index_.head.created_utc = found.head.created_utc;
  index_.cells_digest = found.cells_digest;
  index_.provenance = std::move(found.provenance);
}

/// Adds a row for a result of a cell that the plan lacks.
void Archive::keep_result(const CellRecord& unplanned) {
  CellRecord cell = without_outcome(unplanned);
  cell.index = static_cast<int>(index_.cells.size());
  cell.kept = true;
  row_of_.emplace(cell.key, cell.index);
  index_.cells.push_back(std::move(cell));
}

void Archive::scan_shards() {
  for (const std::string& shard : shard_files(path_)) {
    std::string damage;
    bool has_all = true;
    try {
      for (CellRecord& found : open_shard(shard).index.cells) {
        const std::string key = found.key;
        const Taken taken = take_found(std::move(found));
        if (taken == Taken::contradicts) damage = shard + " contradicts the result of " + key;
        if (taken == Taken::for_this_plan) pending_[planned(key).index] = shard;
        has_all = taken != Taken::for_another_plan && has_all;
      }
    } catch (const ArchiveDamaged& error) {
      damage = error.what();
    }
    if (has_all || !damage.empty()) shards_.emplace(shard, damage);
  }
}

/// Takes an outcome in a shard.
Archive::Taken Archive::take_found(CellRecord found) {
  if (!row_of_.contains(found.key)) {
    if (found.status != CellStatus::ok) return Taken::for_another_plan;
    keep_result(found);
  }
  CellRecord& cell = planned(found.key);
  if (cell.status == CellStatus::ok && !has_more(found, cell)) {
    const bool differs = found.digest != cell.digest && !has_more(cell, found);
    return differs ? Taken::contradicts : Taken::known;
  }
  if (!outcome_counts(found, cell) && !cell.has_run()) return Taken::for_another_plan;
  take_outcome(cell, std::move(found));
  return Taken::for_this_plan;
}

}  // namespace sweep
