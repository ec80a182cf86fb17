#include "sweeps/archive/reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sweeps/archive/file.hpp"
#include "sweeps/files/durable_file.hpp"

namespace sweep {

namespace {

std::size_t position_of(std::string_view table) {
  const auto found = std::find(kCellTables.begin(), kCellTables.end(), table);
  if (found == kCellTables.end()) throw TableError("there is no table " + std::string(table));
  return static_cast<std::size_t>(found - kCellTables.begin());
}

}  // namespace

ArchiveReader::ArchiveReader(std::string path) : path_(resolved(path)) { open(); }

void ArchiveReader::open() {
  // Shards that a merge takes while they are read are in the archive that replaces this one. Merges
  // are seconds apart, so that a few attempts suffice.
  for (int attempt = 0; attempt < 5; ++attempt)
    if (open_once()) return;
}

/// Returns whether every listed shard was still there.
bool ArchiveReader::open_once() {
  // Shards are listed first: a shard that disappears before the archive is opened is merged in it.
  const std::vector<std::string> files = shard_files(path_);
  auto opened = std::make_unique<StoredCells>(open_whole_archive(path_));
  if (source_) replaced_.push_back(std::move(source_));
  source_ = std::move(opened);
  shard_of_.assign(cells().size(), "");
  further_.clear();
  n_shards_ = 0;
  std::map<std::string_view, CellRecord*> by_key;
  for (CellRecord& cell : source_->index.cells) by_key.emplace(cell.key, &cell);
  bool complete = true;
  for (const std::string& file : files) complete = take_shard(file, by_key) && complete;
  return complete;
}

/// Returns whether it was still there.
bool ArchiveReader::take_shard(const std::string& file,
                               const std::map<std::string_view, CellRecord*>& by_key) {
  try {
    for (CellRecord& found : open_shard(file).index.cells) {
      const auto at = by_key.find(found.key);
      if (at == by_key.end()) {
        further_.push_back(std::move(found));
        continue;
      }
      CellRecord& cell = *at->second;
      if (cell.status == CellStatus::ok && !has_more(found, cell)) continue;
      std::string& shard = shard_of_[static_cast<std::size_t>(cell.index)];
      n_shards_ += shard.empty() ? 1 : 0;
      shard = file;
      take_outcome(cell, std::move(found));
    }
  } catch (const ArchiveDamaged&) {
    // Damaged: its driver will run the cells again.
  } catch (const FileError& error) {
    if (error.error_number != ENOENT) throw;
    return false;  // merged since the listing
  }
  return true;
}

ShardContents ArchiveReader::load(int row) {
  const auto at = static_cast<std::size_t>(row);
  const std::string key = cells().at(at).key;
  if (!shard_of_[at].empty()) {
    try {
      return open_shard(shard_of_[at]).load(key);
    } catch (const FileError& error) {
      if (error.error_number != ENOENT) throw;
      open();  // the shard was merged; the row is the same unless the plan changed
      if (at >= cells().size() || cells()[at].key != key) {
        throw ArchiveError(path_ + " was replaced by another plan's while it was read");
      }
    }
  }
  return source_->load(cells()[at]);
}

Table ArchiveReader::load_table(int row, std::string_view table) {
  const std::size_t position = position_of(table);
  const auto at = static_cast<std::size_t>(row);
  if (!shard_of_.at(at).empty()) return *load(row).tables()[position];
  return source_->read(cells()[at], position);
}

std::string lack_of_table(const CellRecord& cell, std::string_view table) {
  if (cell.status != CellStatus::ok || cell.has_result(level_of_table(table))) return "";
  return name_of(cell) + " is stored at the level " + std::string(to_text(cell.level)) +
         ", without its " + std::string(table);
}

std::set<std::string> merged_results(const std::string& path, RecordLevel level) {
  std::set<std::string> keys;
  if (::access(path.c_str(), R_OK) != 0) return keys;
  try {
    for (const CellRecord& cell : open_archive_file(path).index.cells)
      if (cell.has_result(level)) keys.insert(cell.key);
  } catch (const ArchiveError&) {
    // A run that resumes the archive reports the damage.
  }
  return keys;
}

}  // namespace sweep
