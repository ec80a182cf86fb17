#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/histograms.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/archive/shard_reader.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/archive/writer.hpp"
#include "sweeps/commits/archive.hpp"
#include "sweeps/files/freed_memory.hpp"
#include "sweeps/hdf5/memory_file.hpp"
#include "sweeps/hdf5/packed_table.hpp"

namespace sweep {

namespace {

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
void Archive::replace(int threads) {
  const auto check_is_ours = [this] {
    file_.check_is_ours(pending_.empty() ? ""
                                         : "; results that were not in it yet stay in " + folder_);
  };
  check_is_ours();
  const std::string temporary = temporary_name(in_folder("archive"));
  const Placement before(index_);
  ++index_.generation;
  try {
    form(temporary, threads);
    index_.cells_digest = stored_cells_digest(open_h5(temporary).get());
    check_is_ours();
    file_.replace(temporary, options_.keep_previous && has_results_);
  } catch (...) {
    discard(temporary);
    before.restore(index_);
    throw;
  }
  file_.look();
  has_results_ = std::ranges::any_of(index_.cells, &CellRecord::has_run);
  return_freed_memory();  // much more than the run needs until the next merge
}

/// Writes the new archive and reads it back.
void Archive::form(const std::string& temporary, int threads) {
  try {
    write(temporary, threads);
    const auto written = std::ranges::count_if(index_.cells, &CellRecord::has_run);
    say("verifying cells", 0, static_cast<std::size_t>(written));
    verify_archive_file(temporary, index_, threads);
  } catch (const ArchiveWriteFailed&) {
    file_.check_chunks();
    throw;
  } catch (const H5Error&) {
    file_.check_chunks();
    throw;
  }
}

void Archive::say(std::string_view what, std::size_t done, std::size_t of) const {
  if (options_.progress) options_.progress(what, done, of);
}

/// Sets damaged shards aside whose cells have a result in the archive, which counts again.
void Archive::restore_results_of_damaged_shards() {
  for (auto next = replaced_.begin(); next != replaced_.end();) {
    auto& [row, result] = *next;
    try {
      const ShardReader whole(shards_.path(result.key));
      ++next;
    } catch (const ArchiveDamaged& error) {
      shards_.set_aside(result.key, error.what());
      std::erase(pending_, row);
      at(row) = std::move(result);
      next = replaced_.erase(next);
    }
  }
}

/// Writes all cells in plan order, those that the plan lacks behind it: rows of the archive and, of
/// pending cells, of their shards.
void Archive::write(const std::string& temporary, int threads) {
  files_.require_space(folder_, bytes_at(path_) + shards_.bytes_of(pending_keys()));
  ArchiveWriter writer(temporary, threads);
  std::optional<H5File> old;
  std::optional<CellTables> rows;
  if (file_.is_there()) {
    old = open_h5(path_);
    file_.check_source(old->get(), index_.generation - 1, index_.cells_digest);
    rows.emplace(old->get(), threads);
  }
  const std::set<int> pending(pending_.begin(), pending_.end());
  std::optional<ShardReader> shard;
  std::size_t done = 0;
  for (CellRecord& cell : index_.cells) {
    if (pending.contains(cell.index)) {
      say("merging cells", done++, pending.size());
      append_pending(cell, shard, writer, threads);
    } else if (cell.has_run()) {
      for (std::size_t i = 0; i < kCellTables.size(); ++i)
        writer.append(cell, i, reading(path_, [&] { return rows->read(i, cell.rows[i]); }));
    }
  }
  writer.finish(index_);
}

/// Appends the rows of a pending cell. If its shard, which may be the open one, is damaged, it is
/// set aside, and the cell has no outcome.
void Archive::append_pending(CellRecord& cell, std::optional<ShardReader>& shard,
                             ArchiveWriter& writer, int threads) {
  try {
    const std::string path = shards_.path(cell.key);
    if (!shard || shard->identity() != identity_of(path)) shard.emplace(path, threads);
    cell.histograms = shard->record(cell.key).histograms;
  } catch (const ArchiveDamaged& error) {
    if (replaced_.contains(cell.index)) throw;  // the next merge restores its result
    shard.reset();
    shards_.set_aside(cell.key, error.what());
    std::erase(pending_, cell.index);
    cell = without_outcome(cell);
    return;
  }
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const auto [table, rows] = shard->rows(cell.key, i);
    if (table.name == "steps" && cell.level == RecordLevel::all)
      cell.histograms = histograms_of(table, rows);
    writer.append(cell, i, table, rows);
  }
}

std::vector<std::string> Archive::pending_keys() const {
  std::vector<std::string> keys;
  for (const int row : pending_) keys.push_back(index_.cells[static_cast<std::size_t>(row)].key);
  return keys;
}

/// Files with rows of /provenance that wait for a merge.
std::vector<std::string> Archive::descriptions() const {
  std::vector<std::string> files;
  for (const std::string& name : names_in(folder_))
    if (name.ends_with(kDescriptionEnd)) files.push_back(in_folder(name));
  return files;
}

void Archive::add_descriptions(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    try {
      const Table row = read_packed_table(open_h5(file).get(), "provenance");
      std::vector<Note> notes;
      for (const Column& column : row.columns)
        notes.push_back({column.name, row.values<std::string>(column.name).at(0), true});
      add_provenance(index_.provenance, notes);
    } catch (const H5Error& error) {  // a damaged description must not delay results
      shards_.set_file_aside(file, file + " is damaged: " + error.what());
    }
  }
}

/// Called with the first cell, since a run that changes nothing leaves no row in /provenance.
void Archive::write_description() {
  if (options_.provenance.empty()) return;
  Table row{"provenance", {}};
  add_provenance(row, options_.provenance);
  const std::string name = in_folder(table_digest(row) + std::string(kDescriptionEnd));
  if (description_ == name) return;
  MemoryH5 file;
  write_packed_table(file.get(), row);
  replace_file(files_, name, file.close());
  const std::string before = std::exchange(description_, name);
  if (!before.empty()) files_.remove(before);
}

}  // namespace sweep
