#include "sweeps/upkeep/salvage.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/lock.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/archive/writing.hpp"
#include "sweeps/files/child_process.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/bytes.hpp"
#include "sweeps/hdf5/digest.hpp"

namespace sweep {

namespace {

namespace fs = std::filesystem;

/// The two lists of cells in an archive.
enum class Listing { cells, recovery };

/// A private folder, removed at the end of the scope.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& beside) : path_(temporary_name(beside)) {
    FileOps().make_folder(path_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The files that a child extracts from one source: the plan, the intact results as shards, and the
/// number of the current cell, so that the parent can continue after a crash.
struct Extract {
  std::string folder;
  std::string plan() const { return folder + "/plan.h5"; }
  std::string at() const { return folder + "/at"; }
  std::string shard(const std::string& key) const { return folder + "/" + key + ".h5"; }
};

ArchiveIndex listed(hid_t file, const std::string& path, Listing listing) {
  return listing == Listing::recovery ? read_recovery(file) : open_archive_file(path).index;
}

/// The cell with its rows, if they match its digest.
std::optional<ShardContents> whole(CellLoader& tables, const CellRecord& cell) {
  try {
    ShardContents contents = tables.load(cell);
    if (content_digest(cell, std::as_const(contents).tables()) == cell.digest) return contents;
  } catch (const H5Error&) {
    // Its rows cannot be read; another source may have them.
  }
  return std::nullopt;
}

/// In a child: extracts the cells from position `first` on. Throws FileError or H5Error when the
/// extract cannot be written.
void extract_cells(const H5File& file, const ArchiveIndex& index, const Extract& to, int first) {
  FileOps files;
  if (!fs::exists(to.plan())) {
    ArchiveIndex plan = index;
    for (CellRecord& cell : plan.cells) cell.rows = {};
    create_archive_file(to.plan() + ".tmp", plan);
    files.rename(to.plan() + ".tmp", to.plan());
  }
  CellLoader tables(file.get(), Described::by_program);
  for (std::size_t i = static_cast<std::size_t>(first); i < index.cells.size(); ++i) {
    const CellRecord& cell = index.cells[i];
    if (!cell.has_run() || fs::exists(to.shard(cell.key))) continue;
    files.write(to.at(), std::to_string(i));
    const std::optional<ShardContents> contents = whole(tables, cell);
    if (!contents) continue;
    files.write(to.shard(cell.key) + ".tmp", shard_bytes(*contents));
    files.rename(to.shard(cell.key) + ".tmp", to.shard(cell.key));
  }
}

/// In a child: the same for the cells in one list of an archive. Does nothing if the list cannot be
/// read.
void extract_listed(const std::string& path, Listing listing, const Extract& to, int first) {
  std::optional<H5File> file;
  ArchiveIndex index;
  try {
    file.emplace(open_h5(path));
    index = listed(file->get(), path, listing);
  } catch (const H5Error&) {
    return;
  } catch (const TableError&) {
    return;
  } catch (const ArchiveError&) {
    return;
  }
  extract_cells(*file, index, to, first);
}

/// Extracts in children until one ends without a crash. Throws ArchiveWriteFailed.
void extract(const std::string& path, Listing listing, const Extract& to) {
  for (int first = 0;;) {
    fs::remove(to.at());
    const ChildReport report = report_of_child([&] {
      extract_listed(path, listing, to, first);
      return std::string();
    });
    const auto [exit_code, signal] = report.end;
    if (signal != 0 && !is_crash(signal)) {
      throw ArchiveWriteFailed("the process that reads " + path + " was killed by signal " +
                               std::to_string(signal));
    }
    if (signal == 0 && exit_code != 0) {
      throw ArchiveWriteFailed("cannot save what is in " + path + ": " + report.text);
    }
    if (signal == 0 || !fs::exists(to.at())) return;
    first = std::stoi(file_bytes(to.at())) + 1;
  }
}

/// Copies the archive and repairs single-bit errors in the copy, in child processes. After a crash
/// the copy may be worse than the archive, so it is made again.
void write_repaired_copy(const std::string& path, const std::string& copy) {
  FileOps files;
  const auto repair = [&](const auto& action) {
    const ChildReport report = report_of_child([&action] {
      action();
      return std::string();
    });
    return report.end.exit_code == 0;
  };
  const auto copy_with_metadata = [&] {
    files.copy(path, copy);
    const bool repaired = repair([&copy] {
      const MappedFile file(copy);
      repair_headers(file.bytes());
      repair_chunk_indices(file.bytes());
    });
    if (repaired) return;
    discard(copy);
    files.copy(path, copy);
  };
  copy_with_metadata();
  const bool repaired = repair([&copy] {
    H5File file = open_h5_for_writing(copy);
    repair_chunks(file.get());
    file.close_checked("close " + copy);
  });
  if (repaired) return;
  discard(copy);
  copy_with_metadata();
}

/// Copies the shards beside an archive that match their checksum.
void copy_shards(const std::string& folder, const Extract& to) {
  constexpr std::size_t kKeyDigits = 64;
  FileOps files;
  for (const std::string& name : names_in(folder)) {
    const std::string key = name.substr(0, std::min(kKeyDigits, name.size()));
    if (!is_sha256(key) || name != key + ".h5") continue;
    try {
      static_cast<void>(read_shard_record(folder + "/" + name, key));
      files.copy(folder + "/" + name, to.shard(key));
    } catch (const ArchiveDamaged&) {
      // Damaged.
    }
  }
}

/// Everything that was found, by source in order of preference.
struct Findings {
  std::vector<std::string> sources;
  std::vector<Extract> extracts;
  std::optional<ArchiveIndex> plan;   // with the outcomes that the archive lists
  std::vector<std::string> unlisted;  // sources without a readable list of cells
};

Findings find_all(const std::string& path, const WorkFolder& work) {
  Findings found;
  const auto add = [&](const std::string& source) -> const Extract& {
    const Extract to{work.file(std::to_string(found.extracts.size()))};
    FileOps().make_folder(to.folder);
    found.sources.push_back(source);
    return found.extracts.emplace_back(to);
  };
  for (const std::string& source : {path, path + ".prev"}) {
    if (!fs::exists(source)) continue;
    const Extract& to = add(source);
    const std::string copy = to.folder + "/repaired.h5";
    write_repaired_copy(source, copy);
    for (const Listing listing : {Listing::cells, Listing::recovery}) extract(copy, listing, to);
    if (!fs::exists(to.plan())) found.unlisted.push_back(source);
    if (!found.plan && fs::exists(to.plan())) found.plan = open_archive_file(to.plan()).index;
  }
  copy_shards(path + ".d", add(path + ".d"));
  return found;
}

/// The archive's plan, followed by the cells that only shards have.
ArchiveIndex whole_plan(const Findings& found) {
  ArchiveIndex index = found.plan.value_or(ArchiveIndex{});
  std::set<std::string> known;
  for (const CellRecord& cell : index.cells) known.insert(cell.key);
  std::vector<CellRecord> more;
  for (const Extract& extract : found.extracts) {
    for (const std::string& name : names_in(extract.folder)) {
      const std::string key = name.substr(0, name.find('.'));
      if (is_sha256(key) && known.insert(key).second) {
        more.push_back(read_shard_record(extract.shard(key), key));
      }
    }
  }
  std::ranges::stable_sort(more, {}, &CellRecord::index);
  for (CellRecord& cell : more) {
    cell.index = static_cast<int>(index.cells.size());
    index.cells.push_back(std::move(cell));
  }
  return index;
}

/// The source with the best outcome of a cell: a result, at the highest level, else any outcome.
/// Ties go to the first source. -1: none.
int best_source(const Findings& found, const std::string& key) {
  int best = -1;
  std::pair<bool, RecordLevel> most;
  for (std::size_t i = 0; i < found.extracts.size(); ++i) {
    const std::string shard = found.extracts[i].shard(key);
    if (!fs::exists(shard)) continue;
    const CellRecord record = read_shard_record(shard, key);
    const std::pair worth(record.status == CellStatus::ok, record.level);
    if (best >= 0 && worth <= most) continue;
    best = static_cast<int>(i);
    most = worth;
  }
  return best;
}

std::string sentence_of(const CellRecord& cell) {
  return "cell " + std::to_string(cell.index) + " (" + cell.label + "), " +
         std::string(to_text(cell.status)) + ": no copy of it is whole";
}

/// Writes the archive and counts its results.
Salvage write_salvaged(const std::string& temporary, ArchiveIndex& index, const Findings& found) {
  Salvage salvage;
  for (const std::string& each : found.unlisted) {
    salvage.lost.push_back("any result that only " + each +
                           " had: its list of cells cannot be read");
  }
  std::vector<int> from(found.extracts.size(), 0);
  const std::vector<CellRecord> claimed = index.cells;
  for (CellRecord& cell : index.cells) cell = without_outcome(cell);
  create_archive_file(temporary, index);
  H5File file = open_h5_for_writing(temporary);
  CellAppender tables(file.get());
  for (std::size_t i = 0; i < index.cells.size(); ++i) {
    CellRecord& cell = index.cells[i];
    const int source = best_source(found, cell.key);
    if (source < 0 && !claimed[i].has_run()) {
      cell = claimed[i];
    } else if (source < 0) {
      salvage.lost.push_back(sentence_of(claimed[i]));
    } else {
      const auto at = static_cast<std::size_t>(source);
      const ShardContents contents = read_shard(found.extracts[at].shard(cell.key), cell.key);
      take_outcome(cell, contents.record);
      tables.append(cell, contents);
      ++from[at];
      ++salvage.saved;
    }
  }
  write_index(file.get(), index, tables.finish());
  file.close_checked("close " + temporary);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] > 0) {
      salvage.sources.push_back(found.sources[i] + ": " + std::to_string(from[i]) + " results");
    }
  }
  return salvage;
}

Salvage salvage_into(const std::string& path, const std::string& target) {
  const WorkFolder work(target);
  Findings found = find_all(path, work);
  ArchiveIndex index = whole_plan(found);
  if (index.cells.empty()) {
    throw ArchiveDamaged("nothing can be saved of " + path + ", " + path + ".prev and " + path +
                         ".d: none of them has a list of cells or a result that is whole");
  }
  const std::string temporary = work.file("archive.h5");
  Salvage salvage = write_salvaged(temporary, index, found);
  std::vector<int> all(index.cells.size());
  std::iota(all.begin(), all.end(), 0);
  verify_archive_file(temporary, index, all);
  FileOps files;
  publish_new(files, temporary, target);
  return salvage;
}

}  // namespace

Salvage salvage_archive(const std::string& archive, const std::string& target) {
  const std::string path = resolved(archive);
  if (fs::exists(path) || (!fs::exists(path + ".prev") && !fs::exists(path + ".d"))) {
    check_is_file(path);
    static_cast<void>(
        Descriptor(path, O_RDONLY));  // throws FileError with the reason if it cannot be read
  }
  if (fs::exists(fs::symlink_status(target))) throw FileError("create", target, EEXIST);
  // A live driver moves results from shards into the archive; they could be missed in both.
  const std::optional<LiveDriver> driver = live_driver(path);
  if (driver && driver->is_certain) throw ArchiveInUse(path, driver->holder);
  Salvage salvage;
  try {
    writing(target, [&] { salvage = salvage_into(path, target); });
  } catch (const ArchiveNoSpace& error) {
    throw ArchiveWriteFailed(error.what());  // a salvage does not wait for space
  }
  return salvage;
}

}  // namespace sweep
