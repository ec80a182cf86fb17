#include "sweeps/upkeep/salvage.hpp"

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
#include "sweeps/archive/names.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/archive/spare.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/commits/shards.hpp"
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

/// An archive, read by HDF5 until that finds damage, then by its spare copy if there is one.
class Source {
 public:
  explicit Source(const std::string& path)
      : path_(path),
        contents_(unless_damaged([&]() -> ArchiveContents { return open_whole_archive(path); })) {
    if (contents_ || turn_to_spare()) return;
    contents_ = unless_damaged([&]() -> ArchiveContents { return open_archive_file(path); });
  }
  /// Empty if its cells cannot be read.
  std::optional<ArchiveContents>& contents() { return contents_; }
  /// Returns whether there is one that was not read from yet.
  bool turn_to_spare() {
    if (std::exchange(is_spare_, true)) return false;
    auto spare = unless_damaged([this] { return read_spare(file_bytes(path_)); });
    if (spare && contents_) contents_->tables = std::move(spare->tables);
    if (spare && !contents_) contents_ = std::move(spare);
    return spare.has_value();
  }

 private:
  std::string path_;
  std::optional<ArchiveContents> contents_;
  bool is_spare_ = false;
};

/// A source that has an outcome of a cell.
struct Candidate {
  const CellRecord* record;
  Source* archive;     // null: a shard
  std::string source;  // the file, or the folder of shards

  /// The cell with its rows, if they match its digest.
  std::optional<ShardContents> whole() const {
    auto found = unless_damaged([this] { return read(); });
    if (!found && archive != nullptr && archive->turn_to_spare())
      found = unless_damaged([this] { return read(); });
    return found;
  }

 private:
  ShardContents read() const {
    if (archive == nullptr)
      return ShardReader(source + "/" + record->key + ".h5").load(record->key);
    ShardContents contents = archive->contents()->tables.load(*record);
    if (content_digest(*record, std::as_const(contents).tables()) != record->digest)
      throw H5Error("the rows of a cell do not have its digest");
    return contents;
  }
};

/// The archive, what it was before, and the shards beside it.
class Sources {
 public:
  explicit Sources(const std::string& path) {
    for (const std::string& each : {path, path + ".prev"})
      if (fs::exists(each)) add_archive(each);
    FileOps files;
    ShardRecords records;
    for (const std::string& key : Shards(path, files, {}).keys()) {
      auto record = unless_damaged([&] { return records.take(shard_path(path, key), key); });
      if (record) add({&shards_.emplace_back(std::move(*record)), nullptr, path + ".d"});
    }
  }

  /// The archive's plan, followed by the cells that only shards have.
  ArchiveIndex plan() {
    ArchiveIndex index;
    if (!archives_.empty()) index = archives_.front().contents()->index;
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
  /// Archives without a readable list of cells.
  const std::vector<std::string>& unlisted() const { return unlisted_; }
  /// The best outcome of a cell that is whole: a result, at the highest level, else any outcome.
  /// Counts it for its source, the first with one as good.
  std::optional<ShardContents> best(const std::string& key) {
    std::vector<Candidate>& of_cell = candidates_[key];
    std::ranges::stable_sort(of_cell, std::greater(), [](const Candidate& each) {
      return std::pair(each.record->status == CellStatus::ok, each.record->level);
    });
    for (const Candidate& each : of_cell) {
      std::optional<ShardContents> contents = each.whole();
      if (!contents) continue;
      ++saved_[each.source];
      return contents;
    }
    return std::nullopt;
  }
  /// The columns that cost the cell, as far as they are known.
  std::string damage_of(const std::string& key) {
    for (const Candidate& each : candidates_[key]) {
      if (each.archive == nullptr) continue;
      const std::string damage = each.archive->contents()->tables.damage_of(*each.record);
      if (!damage.empty()) return "; damaged: " + damage;
    }
    return "";
  }
  /// "a.h5: 70 results", one for each source with results.
  std::vector<std::string> saved() const {
    std::vector<std::string> sentences;
    for (const auto& [source, results] : saved_)
      sentences.push_back(source + ": " + std::to_string(results) + " results");
    return sentences;
  }

 private:
  void add_archive(const std::string& path) {
    Source& archive = archives_.emplace_back(path);
    if (archive.contents()) {
      for (const CellRecord& cell : archive.contents()->index.cells) add({&cell, &archive, path});
    } else {
      archives_.pop_back();
      unlisted_.push_back(path);
    }
  }
  void add(Candidate candidate) {
    if (candidate.record->has_run())
      candidates_[candidate.record->key].push_back(std::move(candidate));
  }

  std::deque<Source> archives_;
  std::deque<CellRecord> shards_;
  std::vector<std::string> unlisted_;
  std::map<std::string, std::vector<Candidate>> candidates_;  // by key
  std::map<std::string, int> saved_;                          // results by source
};

Salvage salvage_into(const std::string& path, const std::string& target) {
  Sources sources(path);
  ArchiveIndex index = sources.plan();
  if (index.cells.empty()) {
    throw ArchiveDamaged("nothing can be saved of " + path + ", " + path + ".prev and " + path +
                         ".d: none of them has a list of cells or a result that is whole");
  }
  Salvage salvage;
  for (const std::string& each : sources.unlisted())
    salvage.lost.push_back("any result that only " + each +
                           " had: its list of cells cannot be read");
  write_new_archive(target, std::move(index), [&](CellRecord& cell) {
    std::optional<ShardContents> contents = sources.best(cell.key);
    if (contents) {
      cell = without_outcome(cell);
      take_outcome(cell, contents->record);
      ++salvage.saved;
    } else if (cell.has_run()) {
      salvage.lost.push_back("cell " + std::to_string(cell.index) + " (" + cell.label + "), " +
                             std::string(to_text(cell.status)) + ": no copy of it is whole" +
                             sources.damage_of(cell.key));
    }
    return contents;
  });
  salvage.sources = sources.saved();
  return salvage;
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
