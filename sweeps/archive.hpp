#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sweeps/archive_errors.hpp"
#include "sweeps/archive_lock.hpp"
#include "sweeps/cells_table.hpp"
#include "sweeps/durable_file.hpp"

namespace sweep {

struct ArchiveIndex;
struct OpenArchive;

enum class OpenMode {
  resume_or_create,
  resume,  // there must be one
  fresh,   // one that is there is moved aside
};

struct ArchiveOptions {
  std::string sweep_name;
  std::string spec_text;
  std::string tool_version;
  std::string now_utc;  // of a new archive
  OpenMode mode = OpenMode::resume_or_create;
  LockHolder self;
  KeepWaiting keep_waiting;
  std::vector<Note> provenance;                       // of this run: a row of /provenance
  std::function<void(const std::string&)> warn = {};  // what was set aside, and why
  bool keep_previous = true;  // the archive before the last change stays as "<path>.prev"
};

/// A cell that was started and has not been committed.
struct RunMark {
  std::string key;
  int attempt = 0;
  int deaths = 0;  // earlier starts that counted against the cell
  std::string host;
  long pid = 0;
  std::string phase;
  std::string died;     // how the process died of the cell: "signal 11", by the worker's handler of
                        // fatal signals, or what the driver saw
  bool drives = false;  // its process was the driver, too: no other cell ran
  std::string stopped{};  // the driver wrote that it was asked to stop while the process lived
  std::int64_t start_ticks = 0;  // of its process, see process_start(); 0: not known
};

/// One sweep's results, open for writing by this process alone.
///
/// A committed cell is a file of its own, a shard, in the folder "<path>.d" until a merge moves it
/// into the archive `path`. The archive is only ever replaced as a whole, by rename, once the new
/// file has been read back: at every instant it is a closed file that any HDF5 program can read.
/// What it was before stays as "<path>.prev".
class Archive {
 public:
  /// Opens or creates the archive of this plan, which is where symbolic links lead: moves in all
  /// shards that are whole, sets aside
  /// ("<key>.h5.damaged") those that are not. Results of cells that the plan no longer has leave
  /// the archive and stay as shards, for a plan that has them again. `files` must outlive the
  /// archive. Throws ArchiveInUse, ArchiveDamaged, ArchiveIncompatible or ArchiveWriteFailed, and
  /// leaves the archive as it was.
  Archive(std::string path, ArchiveOptions options, std::vector<CellRecord> plan, FileOps& files);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// Every planned cell, in plan order, with what became of it so far.
  const std::vector<CellRecord>& cells() const;
  /// Starts that an earlier run did not finish.
  const std::vector<RunMark>& deaths() const { return deaths_; }

  /// Tries out what a run needs before anything is computed: that files can be written and renamed
  /// beside the archive, and that there is space for the largest shard to be expected and for the
  /// copy of a merge. Throws ArchiveWriteFailed.
  void check_room();
  /// Shows that this process is alive: live_driver() tells when it last did.
  void beat();

  /// Adds to this run's row of /provenance, or replaces what it says under that name.
  void describe_run(const std::string& name, const std::string& text);
  /// Writes that row even if no cell is committed, which writes it too.
  void keep_description();

  /// Leaves a note that the cell is about to run, until it is committed or the mark is removed.
  void mark_started(const RunMark& mark);
  void remove_mark(const std::string& key);
  /// Adds "name=value" to the mark of a cell that runs.
  void add_to_mark(const std::string& key, const std::string& name, const std::string& value);
  /// The file of the mark. A dying worker may append the line "died=<how>" to it.
  std::string mark_path(const std::string& key) const;

  /// Makes a finished cell durable; when this returns, the cell survives anything but the disk.
  /// Throws ArchiveDamaged when the bytes are not a whole shard of this planned cell, ArchiveError
  /// when it has a result already, ArchiveWriteFailed. After an ArchiveNoSpace it can be called
  /// again.
  const CellRecord& commit(const std::string& key, const std::string& bytes);

  /// Merges when enough shards have come together to be worth a copy of the archive, and there is
  /// space for it.
  bool merge_if_due();
  void merge();
  /// Merges what is left and puts all rows in plan order. The archive then depends on its cells
  /// alone, and not on when and where they ran.
  void finalize();

 private:
  void open_archive(OpenMode mode);
  void move_aside();
  void adopt(OpenArchive opened);
  void keep_unplanned(const OpenArchive& found);
  bool has_shard_of(const CellRecord& cell);
  void scan_shards();
  void take_shard(CellRecord& cell);
  void read_marks();
  void write_provenance();
  std::vector<std::string> provenance_files() const;
  void set_aside(const std::string& file, const std::string& why);
  using Rewrite = std::function<std::vector<int>(const std::string& temporary, ArchiveIndex& to)>;
  void replace_archive(const Rewrite& write);
  std::vector<int> form(const std::string& temporary, ArchiveIndex& to, const Rewrite& write) const;
  void check_chunks_of_source() const;
  void check_is_ours() const;
  void check_source(std::int64_t file, std::int64_t generation) const;  // an identifier of HDF5
  void keep_previous();
  std::vector<int> append_shards(const std::string& temporary, ArchiveIndex& to);
  std::vector<int> rewrite(const std::string& temporary, ArchiveIndex& to) const;
  void add_stored_provenance(const std::vector<std::string>& files);
  bool in_plan_order() const;
  std::uint64_t pending_bytes() const;
  std::uint64_t largest_expected_shard() const;
  CellRecord& planned(const std::string& key);
  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }
  std::string shard_path(const std::string& key) const { return in_folder(key + ".h5"); }

  std::string path_, folder_;
  ArchiveOptions options_;
  FileOps& files_;
  std::unique_ptr<ArchiveLock> lock_;
  std::unique_ptr<ArchiveIndex> index_;
  std::map<std::string, int> row_of_;  // key -> position in the plan
  std::vector<int> pending_;           // committed, not merged
  std::size_t merged_ = 0;             // cells that have run and are in the archive
  bool has_results_ = false;           // the file at path_, planned ones or not
  std::vector<RunMark> deaths_;
  std::string provenance_file_;  // of this run; empty before it is written
  bool index_changed_ = false;   // the file's index is not index_
  FileIdentity left_;            // of the archive as this process left or found it
};

}  // namespace sweep
