#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/file.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/commits/archive.hpp"
#include "sweeps/hdf5/packed_tables.hpp"
#include "sweeps/process/freed_memory.hpp"

namespace sweep {

namespace {

/// The row of /provenance in a file.
std::vector<Note> sealed_row(const std::string& file) {
  std::string bytes = file_bytes(file);
  check_seal(bytes, file);
  return reading(file, [&] {
    const Table row = PackedTables(std::move(bytes)).read("provenance");
    std::vector<Note> notes;
    for (const Column& column : row.columns)
      notes.push_back({column.name, row.values<std::string>(column.name).at(0), true});
    return notes;
  });
}

}  // namespace

/// Writes a new archive with what the old one and the pending shards hold. The old archive stays in
/// place until the new one is complete, read back and on the disk.
void Archive::replace(int threads) {
  const auto check_is_ours = [this] {
    file_.check_is_ours(pending_.empty() ? ""
                                         : "; results that were not in it yet stay in " + folder_);
  };
  check_is_ours();
  const TemporaryFile temporary(in_folder("archive"));
  const std::string digest = form(temporary.path, threads);
  check_is_ours();
  file_.replace(temporary.path, options_.keep_previous && merged_ > 0);
  index_.cells_digest = digest;
  file_.look();
  merged_ = static_cast<std::size_t>(std::ranges::count_if(index_.cells, &CellRecord::has_run));
  return_freed_memory();  // much more than the run needs until the next merge
}

/// Writes the new archive and reads it back. Returns the digest of its /cells.
std::string Archive::form(const std::string& temporary, int threads) {
  try {
    write(temporary, threads);
    const auto written = std::ranges::count_if(index_.cells, &CellRecord::has_run);
    say("verifying cells", 0, static_cast<std::size_t>(written));
    return verify_archive_file(temporary, index_, threads);
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

/// Writes all cells in plan order, those that the plan lacks behind it: rows of the archive and, of
/// pending cells, of their shards.
void Archive::write(const std::string& temporary, int threads) {
  std::uint64_t bytes = bytes_at(path_);
  for (const auto& [file, damage] : shards_) bytes += bytes_at(file);
  files_.require_space(folder_, bytes);
  std::optional<StoredCells> old, shard;
  std::map<std::string_view, const CellRecord*> stored;  // what the archive has
  if (file_.is_there()) {
    old = open_whole_archive(path_, threads);
    if (old->index.cells_digest != index_.cells_digest)
      throw ArchiveIncompatible(path_ + " is not the archive that this run left there");
    for (const CellRecord& cell : old->index.cells) stored.emplace(cell.key, &cell);
  }
  const std::size_t all = pending_.size();
  std::size_t done = 0;
  const auto rows_of = [&](CellRecord& cell) -> RowsOfCell {
    const auto before = stored.find(cell.key);
    const CellRecord *in_archive = before == stored.end() ? nullptr : before->second,
                     *in_shard = nullptr;
    if (pending_.contains(cell.index)) {
      say("merging cells", done++, all);
      in_shard = find_shard(cell, in_archive, shard, threads);
    }
    const CellRecord* from = in_shard != nullptr ? in_shard : in_archive;
    if (!cell.has_run() || from == nullptr) return {};
    cell.rows = from->rows;
    StoredCells& source = in_shard != nullptr ? *shard : *old;
    return [&source, from](std::size_t table) { return source.read(*from, table); };
  };
  write_archive(temporary, index_, rows_of, threads);
}

/// A pending cell in its shard, which may be the open one. Null if that is damaged: it is set
/// aside, and the cell has the outcome `before`, if there was a result.
const CellRecord* Archive::find_shard(CellRecord& cell, const CellRecord* before,
                                      std::optional<StoredCells>& shard, int threads) {
  const std::string path = pending_.at(cell.index);
  try {
    if (!shard || shard->name != path) {
      shard.reset();  // there is not always memory for two
      shard = open_shard(path, threads);
    }
    return &shard->record(cell.key);
  } catch (const ArchiveDamaged& error) {
    shard.reset();
    shards_[path] = error.what();
    pending_.erase(cell.index);
    cell = without_outcome(cell);
    if (before != nullptr && before->status == CellStatus::ok) take_outcome(cell, *before);
    return nullptr;
  }
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
      add_provenance(index_.provenance, sealed_row(file));
    } catch (const ArchiveDamaged& error) {  // a damaged description must not delay results
      set_aside(file, error.what());
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
  const Table* const rows[] = {&row};
  replace_file(files_, name, sealed(pack_tables(rows)));
  const std::string before = std::exchange(description_, name);
  if (!before.empty()) files_.remove(before);
}

}  // namespace sweep
