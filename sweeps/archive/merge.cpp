#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sweeps/archive/archive.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/archive/shard_reader.hpp"
#include "sweeps/archive/spare.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/archive/writer.hpp"
#include "sweeps/archive/writing.hpp"
#include "sweeps/files/freed_memory.hpp"
#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/direct_chunks.hpp"

namespace sweep {

namespace {

constexpr std::string_view kProvenanceEnd = ".prov";

/// What a new archive changes of the index: where the rows are. The rest of an index is large.
class Placement {
 public:
  explicit Placement(const ArchiveIndex& index)
      : generation_(index.generation), cells_digest_(index.cells_digest) {
    for (const CellRecord& cell : index.cells) rows_.push_back(cell.rows);
  }
  /// Of cells that still have a result.
  void restore(ArchiveIndex& index) const {
    index.generation = generation_;
    index.cells_digest = cells_digest_;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (index.cells[i].has_run()) index.cells[i].rows = rows_[i];
  }

 private:
  std::int64_t generation_;
  std::string cells_digest_;
  std::vector<std::array<RowRange, kCellTables.size()>> rows_;
};

}  // namespace

/// Writes a new archive with what the old one and the pending shards hold. The old archive stays in
/// place until the new one is complete, read back and on the disk.
void Archive::replace_archive(int threads) {
  check_is_ours();
  const std::string temporary = temporary_name(in_folder("archive"));
  const Placement before(*index_);
  ++index_->generation;
  try {
    form(temporary, threads);
    index_->cells_digest = stored_cells_digest(open_h5(temporary).get());
    check_is_ours();
    keep_previous();
    publish(files_, temporary, path_);
    has_results_ = std::ranges::any_of(index_->cells, &CellRecord::has_run);
  } catch (...) {
    discard(temporary);
    before.restore(*index_);
    throw;
  }
  left_ = identity_of(path_);
  return_freed_memory();  // much more than the run needs until the next merge
}

/// Writes the new archive and reads it back.
void Archive::form(const std::string& temporary, int threads) {
  try {
    write(temporary, threads);
    std::vector<int> written;
    for (const CellRecord& cell : index_->cells)
      if (cell.has_run()) written.push_back(cell.index);
    say("verifying cells", 0, written.size());
    verify_archive_file(temporary, *index_, written, threads);
  } catch (const ArchiveWriteFailed&) {
    check_chunks_of_source();
    throw;
  } catch (const H5Error&) {
    check_chunks_of_source();
    throw;
  }
}

/// Throws ArchiveDamaged if a chunk of the old archive is damaged. A failed copy is then the fault
/// of that archive, not of the disk.
void Archive::check_chunks_of_source() const {
  if (left_ == FileIdentity{}) return;
  try {
    check_chunks(open_h5(path_).get());
  } catch (const H5Error& error) {
    throw ArchiveDamaged(path_ + " is damaged: " + error.what());
  }
}

/// Throws if another file is at the path: other programs may replace it without taking the lock.
void Archive::check_is_ours() const {
  if (identity_of(path_) == left_) return;
  throw ArchiveIncompatible(
      path_ +
      " is not the file that this run left there: it was replaced, changed or removed "
      "meanwhile, and is left as it is" +
      (pending_.empty() ? "" : "; results that were not in it yet stay in " + folder_));
}

/// Checks that the archive is the one that this run wrote and is intact, before its rows are taken
/// into the next one.
void Archive::check_source(std::int64_t file) const {
  if (read_generation(file) != index_->generation - 1 ||
      stored_cells_digest(file) != index_->cells_digest) {
    throw ArchiveIncompatible(path_ + " is not the archive that this run left there");
  }
  try {
    check_spare(file);
  } catch (const H5Error& error) {
    throw ArchiveDamaged(path_ + " is damaged: " + error.what());
  }
}

void Archive::keep_previous() {
  if (!options_.keep_previous || !has_results_) return;
  const std::string name = temporary_name(in_folder("previous"));
  if (!files_.link(path_, name)) {
    if (options_.warn)
      options_.warn("there can be no hard link to " + path_ +
                    ", so the archive before each change is not kept");
    options_.keep_previous = false;
    return;
  }
  files_.rename(name, path_ + ".prev");
  files_.remove(name);  // rename keeps both names if they are links to one file
}

void Archive::say(std::string_view what, std::size_t done, std::size_t of) const {
  if (options_.progress) options_.progress(what, done, of);
}

/// Sets damaged shards aside whose cells have a result in the archive, which counts again.
void Archive::restore_results_of_damaged_shards() {
  for (auto at = replaced_.begin(); at != replaced_.end();) {
    auto& [row, result] = *at;
    try {
      const ShardReader whole(shard_path(result.key));
      ++at;
    } catch (const ArchiveDamaged& error) {
      set_aside(result.key + ".h5", error.what());
      std::erase(pending_, row);
      index_->cells[static_cast<std::size_t>(row)] = std::move(result);
      at = replaced_.erase(at);
    }
  }
}

/// The rows of the archive's cells; a failed read means that it is damaged.
class Archive::OldRows {
 public:
  OldRows(const Archive& archive, Crew* crew) : file_(open_h5(archive.path_)) {
    archive.check_source(file_.get());
    tables_.emplace(file_.get(), crew);
  }
  Table read(std::size_t table, RowRange rows) {
    try {
      return tables_->table(table).read(rows);
    } catch (const H5Error& error) {
      throw ArchiveDamaged(std::string("the archive is damaged: ") + error.what());
    }
  }

 private:
  H5File file_;
  std::optional<CellLoader> tables_;
};

/// Opens the shard of a pending cell, unless it is the open one. False if it is damaged: then it is
/// set aside, and the cell has no outcome.
bool Archive::open_shard(CellRecord& cell, std::optional<ShardReader>& shard, Crew& crew) {
  try {
    const std::string path = shard_path(cell.key);
    if (!shard || shard->identity() != identity_of(path)) shard.emplace(path, &crew);
    cell.histograms = shard->record(cell.key).histograms;
    return true;
  } catch (const ArchiveDamaged& error) {
    if (replaced_.contains(cell.index)) throw;  // the next merge restores its result
    shard.reset();
    set_aside(cell.key + ".h5", error.what());
    std::erase(pending_, cell.index);
    cell = without_outcome(cell);
    return false;
  }
}

/// Writes all cells in plan order, those that the plan lacks behind it: rows of the archive and, of
/// pending cells, of their shards.
void Archive::write(const std::string& temporary, int threads) {
  files_.require_space(folder_, bytes_at(path_) + pending_bytes());
  ArchiveWriter writer(temporary, threads);
  std::optional<OldRows> old;
  if (left_ != FileIdentity{}) old.emplace(*this, &writer.crew());
  const std::set<int> pending(pending_.begin(), pending_.end());
  std::optional<ShardReader> shard;
  std::size_t done = 0;
  for (CellRecord& cell : index_->cells) {
    if (!pending.contains(cell.index)) {
      if (!cell.has_run()) continue;
      for (std::size_t i = 0; i < kCellTables.size(); ++i)
        writer.append(cell, i, old->read(i, cell.rows[i]));
      continue;
    }
    say("merging cells", done++, pending.size());
    if (!open_shard(cell, shard, writer.crew())) continue;
    for (std::size_t i = 0; i < kCellTables.size(); ++i)
      writer.append(cell, i, shard->take(cell.key, i));
  }
  writer.finish(*index_);
}

void Archive::add_stored_provenance(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    try {
      const H5File opened = open_h5(file);
      const Table row = read_packed_table(opened.get(), "provenance");
      std::vector<Note> notes;
      for (const Column& column : row.columns) {
        notes.push_back({column.name, row.values<std::string>(column.name).at(0), true});
      }
      add_provenance(index_->provenance, notes);
    } catch (const H5Error& error) {  // a damaged provenance row must not delay results
      set_aside(file.substr(folder_.size() + 1), file + " is damaged: " + error.what());
    }
  }
}

std::vector<std::string> Archive::provenance_files() const {
  std::vector<std::string> files;
  for (const std::string& name : names_in(folder_)) {
    if (name.ends_with(kProvenanceEnd)) files.push_back(in_folder(name));
  }
  return files;
}

/// Called with the first cell, since a run that changes nothing leaves no row in /provenance.
void Archive::write_provenance() {
  if (options_.provenance.empty()) return;
  Table row{"provenance", {}};
  add_provenance(row, options_.provenance);
  const std::string name = in_folder(table_digest(row) + std::string(kProvenanceEnd));
  if (provenance_file_ == name) return;
  const std::string temporary = temporary_name(in_folder("provenance"));
  MemoryH5 file;
  write_packed_table(file.get(), row);
  try {
    files_.write(temporary, file.close());
    publish(files_, temporary, name);
  } catch (const FileError&) {
    discard(temporary);
    throw;
  }
  const std::string before = std::exchange(provenance_file_, name);
  if (!before.empty()) files_.remove(before);
}

}  // namespace sweep
