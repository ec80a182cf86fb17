#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/archive/errors.hpp"
#include "sweeps/commits/archive_file.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/commits/marks.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

struct StoredCells;

enum class OpenMode {
  resume_or_create,
  resume,  // the archive must exist
  fresh,   // an existing archive is moved aside
};

/// "merging cells", "verifying cells": how many are done, of how many.
using MergeProgress = std::function<void(std::string_view what, std::size_t done, std::size_t of)>;

struct ArchiveOptions {
  std::string sweep_name;
  std::string spec_text;
  std::string tool_version;
  std::string now_utc;  // creation time of a new archive
  OpenMode mode = OpenMode::resume_or_create;
  LockHolder self;
  KeepWaiting keep_waiting;
  std::vector<Note> provenance;  // this run's row of /provenance
  Warn warn = {};
  MergeProgress progress = {};  // told what a merge is at
  int cores = 1;                // that finalize() may use: nothing else runs then
  bool keep_previous = true;    // keep the archive before the last change as "<path>.prev"
  RecordLevel record = RecordLevel::all;  // cells with a result below it run again
  // A merge waits until there are more shards than this and than merged cells. Fewer merges save
  // copies and the last sort; more shards make readers slower.
  std::size_t most_shards = 64;
  std::uint64_t most_shard_bytes = std::uint64_t{1} << 30;
};

/// One sweep's results, open for writing by this process alone.
///
/// Committed cells are files of their own, shards, in the folder "<path>.d". A merge moves them
/// into the archive `path`. A merge writes a new file with all rows in plan order, reads it back
/// and renames it over the old one, so the archive is a closed file that any HDF5 program can read
/// at every instant. What it holds depends only on its cells, not on when and where they ran.
///
/// The order of writes. 1. A worker forms a shard in memory; the driver checks its SHA-256. 2. A
/// commit syncs a temporary file, renames it to "<key>.h5", by its first cell, and syncs the
/// folder; only then is the cell reported as stored. 3. A merge writes a temporary file, the spare
/// copy last, opens it again and compares index, chunks, spare copy and the rows of each cell with
/// their digests. 4. The file at `path` must still be the one that this process left there. 5. It
/// gets a second name, which is renamed to "<path>.prev"; the temporary file is synced and renamed
/// to `path`; the folder is synced. 6. Only then are the shards removed.
class Archive {
 public:
  /// Opens or creates the archive of this plan; symbolic links in `path` are followed. Merges the
  /// whole shards beside it and renames the damaged ones to "<key>.h5.damaged". Results of cells
  /// that the plan lacks stay in the archive, behind the plan.
  /// `files` must outlive the archive. Throws ArchiveInUse, ArchiveDamaged, ArchiveIncompatible or
  /// ArchiveWriteFailed, and then leaves the archive as it was.
  Archive(std::string path, ArchiveOptions options, std::vector<CellRecord> plan, FileOps& files);
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// Every planned cell, in plan order, with its outcome so far.
  std::span<const CellRecord> cells() const { return std::span(index_.cells).first(n_planned_); }
  /// Results of cells that the plan lacks.
  std::span<const CellRecord> kept() const { return std::span(index_.cells).subspan(n_planned_); }
  /// Attempts that an earlier run started and did not finish.
  const std::vector<RunMark>& deaths() const { return deaths_; }

  /// Checks, before anything is computed, that files can be written and renamed beside the archive,
  /// and that there is space for the largest expected shard and for the copy that a merge makes.
  /// Throws ArchiveWriteFailed.
  void check_room();
  /// Heartbeat of this process; live_driver() returns the time of the last one.
  void heartbeat() { lock_->heartbeat(); }

  /// Sets a column of this run's row of /provenance.
  void describe_run(const std::string& name, const std::string& text);
  /// Writes that row even if no cell is committed. A commit writes it as well.
  void keep_description();

  /// Marks of the cells that run. The commit of a cell removes its mark.
  Marks& marks() { return marks_; }

  /// Makes finished cells durable: after this returns, only the loss of the disk can lose them.
  /// Removes the mark of the first. Throws ArchiveDamaged when the bytes are not a whole shard of
  /// these planned cells, ArchiveError when one already has a result, unless this one is a result
  /// at a higher level, and ArchiveWriteFailed. After ArchiveNoSpace the call can be retried.
  std::vector<const CellRecord*> commit(std::span<const std::string> keys,
                                        const std::string& bytes);
  const CellRecord& commit(const std::string& key, const std::string& bytes);

  /// Merges when there are more shards than ArchiveOptions allows, enough to justify a copy of the
  /// archive, and space for it.
  bool merge_if_due();
  void merge() { merge(1); }
  /// Merges the remaining shards, with all cores.
  void finalize() { merge(options_.cores); }

 private:
  void open(OpenMode mode);
  void adopt(ArchiveIndex found);
  void keep_result(const CellRecord& unplanned);
  void scan_shards();
  enum class Taken { for_this_plan, for_another_plan, known, contradicts };
  Taken take_found(CellRecord found);
  std::string new_shard(const std::string& key) const;
  void drop_shards();
  void set_aside(const std::string& file, const std::string& why);

  void merge(int threads);
  void replace(int threads = 1);
  std::string form(const std::string& temporary, int threads);
  void write(const std::string& temporary, int threads);
  const CellRecord* find_shard(CellRecord& cell, const CellRecord* before,
                               std::optional<StoredCells>& shard, int threads);
  void say(std::string_view what, std::size_t done, std::size_t of) const;

  std::vector<std::string> descriptions() const;
  void add_descriptions(const std::vector<std::string>& files);
  void write_description();

  CellRecord& at(int row) { return index_.cells[static_cast<std::size_t>(row)]; }
  CellRecord& planned(const std::string& key);
  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }

  std::string path_, folder_;
  ArchiveOptions options_;
  FileOps& files_;
  std::optional<ArchiveLock> lock_;
  ArchiveFile file_;
  Marks marks_;
  ArchiveIndex index_;
  std::size_t n_planned_ = 0;                  // rows of the plan; the results that are kept follow
  std::map<std::string, int> row_of_;          // key -> row
  std::map<int, std::string> pending_;         // row, committed, not yet merged -> its shard
  std::map<std::string, std::string> shards_;  // what no cell needs after a merge -> its damage
  std::uint64_t pending_size_ = 0;             // bytes of what this process committed of those
  std::size_t merged_ = 0;  // cells that have run and are in the file, planned or not
  std::vector<RunMark> deaths_;
  std::string description_;     // this run's file; empty until it is written
  bool index_changed_ = false;  // index_ differs from the file's index
};

}  // namespace sweep
