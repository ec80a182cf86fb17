#include <algorithm>
#include <optional>
#include <utility>

#include "sweeps/archive/archive.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/archive/shard_reader.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/archive/writing.hpp"
#include "sweeps/files/freed_memory.hpp"
#include "sweeps/files/parallel.hpp"
#include "sweeps/hdf5/bytes.hpp"
#include "sweeps/hdf5/digest.hpp"

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

/// `write` writes the new archive under a temporary name, may change the index, and returns the
/// cells with the rows that it wrote. The old archive stays in place until the new one is complete,
/// read back and on the disk.
void Archive::replace_archive(const Rewrite& write, int threads) {
  check_is_ours();
  const std::string temporary = temporary_name(in_folder("archive"));
  const Placement before(*index_);
  ++index_->generation;
  try {
    const std::vector<int> written = form(temporary, *index_, write, threads);
    index_->cells_digest = stored_cells_digest(open_h5(temporary).get());
    check_is_ours();
    keep_previous();
    publish(files_, temporary, path_);
    has_results_ = has_results_ || std::ranges::any_of(written, [this](int row) {
                     return index_->cells[static_cast<std::size_t>(row)].has_run();
                   });
  } catch (...) {
    discard(temporary);
    before.restore(*index_);
    throw;
  }
  left_ = identity_of(path_);
  return_freed_memory();  // much more than the run needs until the next merge
}

/// Writes the new archive and reads it back. Returns the cells with the rows that it wrote.
std::vector<int> Archive::form(const std::string& temporary, ArchiveIndex& to, const Rewrite& write,
                               int threads) const {
  try {
    std::vector<int> written = write(temporary, to);
    say("verifying cells", 0, written.size());
    verify_archive_file(temporary, to, written, threads);
    return written;
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

/// Checks that the archive is the one that this run wrote and is intact, before rows are added to
/// it or moved for the next generation.
void Archive::check_source(std::int64_t file) const {
  if (read_generation(file) != index_->generation - 1 ||
      stored_cells_digest(file) != index_->cells_digest) {
    throw ArchiveIncompatible(path_ + " is not the archive that this run left there");
  }
  try {
    check_heaps(file);
    check_chunk_indices(file);
    check_objects(file);
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

/// Writes what the archive and the pending shards hold. Returns the cells with the rows that it
/// wrote.
std::vector<int> Archive::merged(const std::string& temporary, ArchiveIndex& to, int threads) {
  files_.require_space(folder_, bytes_at(path_) + pending_bytes());
  if (replaced_.empty()) {
    files_.copy(path_, temporary);
    return append_shards(temporary, to, threads);
  }
  for (const int row : pending_) to.cells[static_cast<std::size_t>(row)].rows = {};
  std::vector<int> all = rewrite(temporary, to);  // every row of it belongs to a cell
  append_shards(temporary, to, threads);
  return all;
}

std::vector<int> Archive::append_shards(const std::string& temporary, ArchiveIndex& to,
                                        int threads) {
  H5File file = open_h5_for_writing(temporary);
  if (replaced_.empty()) check_source(file.get());
  std::array<RowRange, kCellTables.size()> rows;
  std::vector<int> merged;
  {
    Crew crew(threads);
    CellAppender tables(file.get(), &crew);
    std::sort(pending_.begin(), pending_.end());
    std::size_t done = 0;
    std::optional<ShardReader> shard;
    for (const int row : pending_) {
      say("merging cells", done++, pending_.size());
      CellRecord& cell = to.cells[static_cast<std::size_t>(row)];
      try {
        const std::string path = shard_path(cell.key);
        if (!shard || shard->identity() != identity_of(path)) shard.emplace(path, &crew);
        cell.histograms = shard->record(cell.key).histograms;
      } catch (const ArchiveDamaged& error) {
        if (replaced_.contains(row)) throw;  // the next merge restores its result
        shard.reset();
        set_aside(cell.key + ".h5", error.what());
        cell = without_outcome(cell);
        continue;
      }
      for (std::size_t i = 0; i < kCellTables.size(); ++i)
        tables.append(cell, i, shard->take(cell.key, i));
      merged.push_back(row);
    }
    pending_ = merged;
    rows = tables.finish();
  }
  write_index(file.get(), to, rows);
  file.close_checked("close " + temporary);
  return merged;
}

std::vector<int> Archive::rewrite(const std::string& temporary, ArchiveIndex& to) const {
  const H5File from = open_h5(path_);
  check_source(from.get());
  H5File file = create_h5(temporary);
  std::vector<int> written;
  for (const CellRecord& cell : to.cells) written.push_back(cell.index);
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    say("sorting tables", i, kCellTables.size());
    std::vector<MovedRows> moved;
    std::int64_t next = 0;
    for (CellRecord& cell : to.cells) {
      moved.push_back({cell.index, cell.rows[i]});
      cell.rows[i].offset = next;
      next += cell.rows[i].rows;
    }
    copy_rows(from.get(), file.get(), std::string(kCellTables[i]), moved);
  }
  write_index(file.get(), to, rows_in_all(to.cells));
  file.close_checked("close " + temporary);
  return written;
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
