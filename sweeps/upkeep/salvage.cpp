#include "sweeps/upkeep/salvage.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/spare.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/chunks.hpp"
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
  } catch (const ArchiveError&) {
  }
  return std::nullopt;
}

/// An archive that results may be in, read by HDF5 or, if it is damaged, by its spare copy.
class Source {
 public:
  explicit Source(std::string path) : path_(std::move(path)) {
    archive_ = unless_damaged([&] { return open_archive_file(path_); });
    if (!is_whole())
      spare_ = unless_damaged([&] {
                 return std::make_unique<SpareTables>(file_bytes(path_));
               }).value_or(nullptr);
    if (index() == nullptr) return;
    for (const CellRecord& cell : index()->cells)
      rows_.emplace(cell.key, static_cast<std::size_t>(cell.index));
  }
  const std::string& path() const { return path_; }
  /// Null if its list of cells cannot be read.
  const ArchiveIndex* index() const {
    if (spare_) return &spare_->index();
    return archive_ ? &archive_->index : nullptr;
  }
  const CellRecord* find(const std::string& key) const {
    const auto at = rows_.find(key);
    return at == rows_.end() ? nullptr : &index()->cells[at->second];
  }
  /// The cell with its rows, if they match its digest.
  std::optional<ShardContents> whole(const CellRecord& cell) {
    std::optional<ShardContents> contents =
        unless_damaged([&] { return spare_ ? spare_->load(cell) : archive_->tables.load(cell); });
    if (contents && content_digest(cell, std::as_const(*contents).tables()) != cell.digest)
      contents.reset();
    return contents;
  }
  std::string damage_of(const CellRecord& cell) const {
    return spare_ ? spare_->damage_of(cell) : "";
  }

 private:
  bool is_whole() const {
    return archive_ && unless_damaged([&] {
             check_spare(archive_->file.get());
             check_chunks(archive_->file.get());
             return true;
           });
  }

  std::string path_;
  std::optional<OpenArchive> archive_;
  std::unique_ptr<SpareTables> spare_;
  std::map<std::string, std::size_t> rows_;  // by key
};

/// The archive, what it was before, and the shards beside it.
class Sources {
 public:
  explicit Sources(const std::string& path) : folder_(path + ".d") {
    for (const std::string& each : {path, path + ".prev"})
      if (fs::exists(each)) archives_.emplace_back(each);
    constexpr std::size_t kKeyDigits = 64;
    ShardRecords records;
    for (const std::string& name : names_in(folder_)) {
      const std::string key = name.substr(0, std::min(kKeyDigits, name.size()));
      if (!is_sha256(key) || name != key + ".h5") continue;
      if (auto record = unless_damaged([&] { return records.take(shard(key), key); }))
        shards_.emplace(key, std::move(*record));
    }
  }

  /// The archive's plan, followed by the cells that only shards have.
  ArchiveIndex plan() const {
    ArchiveIndex index;
    const auto listed = std::ranges::find_if(archives_, &Source::index);
    if (listed != archives_.end()) index = *listed->index();
    std::set<std::string> known;
    for (const CellRecord& cell : index.cells) known.insert(cell.key);
    std::vector<CellRecord> more;
    for (const auto& [key, record] : shards_)
      if (!known.contains(key)) more.push_back(record);
    std::ranges::stable_sort(more, {}, &CellRecord::index);
    for (CellRecord& cell : more) {
      cell.index = static_cast<int>(index.cells.size());
      index.cells.push_back(std::move(cell));
    }
    return index;
  }
  /// Archives without a readable list of cells.
  std::vector<std::string> unlisted() const {
    std::vector<std::string> paths;
    for (const Source& each : archives_)
      if (each.index() == nullptr) paths.push_back(each.path());
    return paths;
  }
  /// The best outcome of a cell that is whole: a result, at the highest level, else any outcome.
  /// Counts it for its source, the first with one as good.
  std::optional<ShardContents> best(const std::string& key) {
    using Worth = std::pair<bool, RecordLevel>;
    std::vector<std::pair<Worth, std::size_t>> order;
    for (std::size_t i = 0; i <= archives_.size(); ++i) {
      const CellRecord* cell = record(i, key);
      if (cell != nullptr && cell->has_run())
        order.push_back({{cell->status == CellStatus::ok, cell->level}, i});
    }
    std::ranges::stable_sort(order, std::greater(), &std::pair<Worth, std::size_t>::first);
    for (const auto& [worth, i] : order) {
      std::optional<ShardContents> contents =
          i < archives_.size() ? archives_[i].whole(*record(i, key))
                               : unless_damaged([&] { return read_shard(shard(key), key); });
      if (!contents) continue;
      ++saved_[i < archives_.size() ? archives_[i].path() : folder_];
      return contents;
    }
    return std::nullopt;
  }
  /// The columns that cost the cell, as far as they are known.
  std::string damage_of(const std::string& key) const {
    for (const Source& each : archives_) {
      const CellRecord* cell = each.find(key);
      if (cell == nullptr) continue;
      if (const std::string damage = each.damage_of(*cell); !damage.empty())
        return "; damaged: " + damage;
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
  std::string shard(const std::string& key) const { return folder_ + "/" + key + ".h5"; }
  /// Null if the source does not have the cell.
  const CellRecord* record(std::size_t source, const std::string& key) const {
    if (source < archives_.size()) return archives_[source].find(key);
    const auto at = shards_.find(key);
    return at == shards_.end() ? nullptr : &at->second;
  }

  std::string folder_;
  std::vector<Source> archives_;
  std::map<std::string, CellRecord> shards_;
  std::map<std::string, int> saved_;  // results by source
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
  Salvage salvage;
  try {
    writing(target, [&] { salvage = salvage_into(path, target); });
  } catch (const ArchiveNoSpace& error) {
    throw ArchiveWriteFailed(error.what());  // a salvage does not wait for space
  }
  return salvage;
}

}  // namespace sweep
