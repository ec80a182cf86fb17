#include "sweeps/upkeep/upkeep.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/archive/spare.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/upkeep/rewriting.hpp"

namespace sweep {

namespace {

namespace fs = std::filesystem;

/// Runs `read`; nothing where it finds damage.
template <class Read>
auto unless_damaged(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const H5Error&) {
  } catch (const TableError&) {
  } catch (const ArchiveDamaged&) {
  } catch (const std::out_of_range&) {  // of a spare copy that is too short
  }
  return std::nullopt;
}

/// An archive, by HDF5 if that finds no damage, else by its spare copy if there is one. Empty if
/// its cells cannot be read. Throws ArchiveIncompatible if another program wrote it.
std::optional<StoredCells> opened(const std::string& path) {
  std::optional<StoredCells> archive = unless_damaged([&] {
    StoredCells whole = open_whole_archive(path);
    whole.check();
    return whole;
  });
  if (!archive) archive = unless_damaged([&] { return read_spare(path); });
  if (!archive) archive = unless_damaged([&] { return open_archive_file(path); });
  return archive;
}

/// A source that has an outcome of a cell.
struct Candidate {
  const CellRecord* record;
  StoredCells* archive;  // null: a shard
  std::string file;

  /// The cell with its rows, if they match its digest.
  std::optional<ShardContents> whole() const {
    return unless_damaged([this] {
      if (archive == nullptr) return open_shard(file).load(record->key);
      ShardContents contents = archive->load(*record);
      if (content_digest(contents) != record->digest)
        throw H5Error("the rows of a cell do not have its digest");
      return contents;
    });
  }
};

/// The archive, what it was before, and the shards beside it.
class Sources {
 public:
  explicit Sources(const std::string& path) {
    for (const std::string& each : {path, path + ".prev"})
      if (fs::exists(each)) unless_newer(each, [&] { add_archive(each); });
    for (const std::string& file : shard_files(path)) {
      unless_newer(file, [&] {
        auto shard = unless_damaged([&] { return open_shard(file); });
        for (CellRecord& cell : shard ? shard->index.cells : std::vector<CellRecord>())
          add({&shards_.emplace_back(std::move(cell)), nullptr, file});
      });
    }
  }

  /// The archive's plan, followed by the cells that only shards have.
  ArchiveIndex plan() {
    ArchiveIndex index;
    if (!archives_.empty()) index = archives_.front().index;
    std::set<std::string> known;
    for (const CellRecord& cell : index.cells) known.insert(cell.key);
    std::vector<CellRecord> more(shards_.begin(), shards_.end());
    std::erase_if(more, [&](const CellRecord& cell) { return known.contains(cell.key); });
    std::ranges::stable_sort(more, {}, &CellRecord::index);
    for (CellRecord& cell : more) {
      cell.index = static_cast<int>(index.cells.size());
      index.cells.push_back(std::move(cell));
    }
    return index;
  }
  /// The best outcome of a cell that is whole, which becomes the cell's: a result, at the highest
  /// level, else any outcome.
  std::optional<ShardContents> best(CellRecord& cell) {
    std::vector<Candidate>& of_cell = candidates_[cell.key];
    std::ranges::stable_sort(of_cell, std::greater(), [](const Candidate& each) {
      return std::pair(each.record->status == CellStatus::ok, each.record->level);
    });
    for (const Candidate& each : of_cell) {
      std::optional<ShardContents> contents = each.whole();
      if (!contents) continue;
      cell = without_outcome(cell);
      take_outcome(cell, contents->record);
      ++saved_[each.archive != nullptr ? each.file : folder_of(each.file)];
      return contents;
    }
    if (cell.has_run())
      lost_.push_back(name_of(cell) + ", " + std::string(to_text(cell.status)) +
                      ": no copy of it is whole" + damage_of(of_cell));
    return std::nullopt;
  }
  /// The outcomes of best(), by the first source with one as good, and the cells that are lost.
  Salvage result() const {
    Salvage salvage{0, {}, lost_};
    for (const auto& [source, results] : saved_) {
      salvage.saved += results;
      salvage.sources.push_back(source + ": " + std::to_string(results) + " results");
    }
    return salvage;
  }
  /// Why a file that a newer program wrote is no source; empty if there is none.
  const std::string& newer() const { return newer_; }

 private:
  /// Runs `read`, and names a file that a newer program wrote.
  template <class Read>
  void unless_newer(const std::string& file, Read read) {
    try {
      read();
    } catch (const ArchiveIncompatible& error) {
      newer_ = std::string("; ") + error.what();
      lost_.push_back("any result that only " + file + " has" + newer_);
    }
  }
  void add_archive(const std::string& path) {
    std::optional<StoredCells> archive = opened(path);
    if (!archive) {
      lost_.push_back("any result that only " + path + " had: its list of cells cannot be read");
      return;
    }
    StoredCells& kept = archives_.emplace_back(std::move(*archive));
    for (const CellRecord& cell : kept.index.cells) add({&cell, &kept, path});
  }
  void add(Candidate candidate) {
    if (candidate.record->has_run())
      candidates_[candidate.record->key].push_back(std::move(candidate));
  }
  /// The columns that cost a cell, as far as they are known.
  static std::string damage_of(const std::vector<Candidate>& candidates) {
    for (const Candidate& each : candidates) {
      if (each.archive == nullptr) continue;
      const std::string damage = each.archive->damage_of(*each.record);
      if (!damage.empty()) return "; damaged: " + damage;
    }
    return "";
  }

  std::deque<StoredCells> archives_;
  std::deque<CellRecord> shards_;
  std::map<std::string, std::vector<Candidate>> candidates_;  // by key
  std::map<std::string, int> saved_;                          // results by source
  std::vector<std::string> lost_;
  std::string newer_;  // why a file was not read
};

Salvage salvage_into(const std::string& path, const std::string& target) {
  Sources sources(path);
  ArchiveIndex index = sources.plan();
  if (index.cells.empty()) {
    throw ArchiveDamaged("nothing can be saved of " + path + ", " + path + ".prev and " + path +
                         ".d: none of them has a list of cells or a result that is whole" +
                         sources.newer());
  }
  write_new_archive(target, std::move(index), [&](CellRecord& cell) { return sources.best(cell); });
  return sources.result();
}

}  // namespace

Salvage salvage_archive(const std::string& archive, const std::string& target) {
  const std::string path = resolved(archive);
  if (fs::exists(path) || (!fs::exists(path + ".prev") && !fs::exists(path + ".d"))) {
    check_is_file(path);
  }
  if (fs::exists(fs::symlink_status(target))) throw FileError("create", target, EEXIST);
  // A live driver moves results from shards into the archive; they could be missed in both.
  const std::optional<LiveDriver> driver = live_driver(path);
  if (driver && driver->is_certain) throw ArchiveInUse(path, driver->holder);
  return salvage_into(path, target);
}

}  // namespace sweep
