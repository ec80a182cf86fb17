#include "sweeps/archive/reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sweeps/archive/file.hpp"
#include "sweeps/archive/names.hpp"
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
  bool complete = true;
  // Shards are listed first: a shard that disappears before the archive is opened is merged in it.
  const std::vector<std::string> names = names_in(path_ + ".d");
  auto opened = std::make_unique<StoredCells>(open_whole_archive(path_));
  if (source_) replaced_.push_back(std::move(source_));
  source_ = std::move(opened);
  in_shard_.assign(cells().size(), false);
  n_shards_ = 0;
  ShardRecords records;
  for (CellRecord& cell : source_->index.cells) {
    if (cell.has_result(RecordLevel::all)) continue;
    if (!std::binary_search(names.begin(), names.end(), cell.key + ".h5")) continue;
    try {
      CellRecord found = records.take(shard_path(path_, cell.key), cell.key);
      if (cell.status == CellStatus::ok && !has_more(found, cell)) continue;
      take_outcome(cell, std::move(found));
      in_shard_[static_cast<std::size_t>(cell.index)] = true;
      ++n_shards_;
    } catch (const ArchiveDamaged&) {
      // Damaged: its driver will run the cell again.
    } catch (const FileError& error) {
      if (error.error_number != ENOENT) throw;
      complete = false;  // merged since the listing
    }
  }
  return complete;
}

const std::vector<CellRecord>& ArchiveReader::cells() const { return source_->index.cells; }
const std::string& ArchiveReader::sweep_name() const { return source_->index.head.sweep_name; }
const std::string& ArchiveReader::spec_text() const { return source_->index.head.spec_text; }
const std::string& ArchiveReader::tool_version() const { return source_->index.head.tool_version; }
const std::string& ArchiveReader::created_utc() const { return source_->index.head.created_utc; }
const Table& ArchiveReader::provenance() const { return source_->index.provenance; }

ShardContents ArchiveReader::load(int row) {
  const auto at = static_cast<std::size_t>(row);
  const std::string key = cells().at(at).key;
  if (in_shard_[at]) {
    try {
      return open_shard(shard_path(path_, key)).load(key);
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
  if (in_shard_.at(at)) return *load(row).tables()[position];
  return source_->read(cells()[at], position);
}

std::string lack_of_table(const CellRecord& cell, std::string_view table) {
  if (cell.status != CellStatus::ok || cell.has_result(level_of_table(table))) return "";
  return "cell " + std::to_string(cell.index) + " (" + cell.label + ") is stored at the level " +
         std::string(to_text(cell.level)) + ", without its " + std::string(table);
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
