#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sweeps/archive.hpp"
#include "sweeps/archive_file.hpp"
#include "sweeps/archive_tables.hpp"
#include "sweeps/shard.hpp"

namespace sweep {

namespace {

constexpr std::string_view kProvenanceEnd = ".prov";

/// Forgets what a damaged shard said; the cell will run again.
void forget_outcome(CellRecord& cell) {
  CellRecord planned;
  planned.key = cell.key;
  planned.index = cell.index;
  planned.label = cell.label;
  planned.axes = cell.axes;
  planned.config_json = cell.config_json;
  planned.backend = cell.backend;
  planned.repeat = cell.repeat;
  planned.seed = cell.seed;
  cell = std::move(planned);
}

}  // namespace

/// `write` forms the new archive under a temporary name; the old one is there until it is complete
/// and on the disk.
void Archive::replace_archive(const std::function<void(const std::string& temporary)>& write) {
  const std::string temporary = in_folder("archive.tmp");
  try {
    write(temporary);
    publish(files_, temporary, path_);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void Archive::append_shards(const std::string& temporary, std::vector<CellRecord>& cells) {
  H5File file = open_h5_for_writing(temporary);
  std::array<RowRange, kCellTables.size()> rows;
  {
    CellAppender tables(file.get());
    std::sort(pending_.begin(), pending_.end());
    std::vector<int> merged;
    for (const int row : pending_) {
      CellRecord& cell = cells[static_cast<std::size_t>(row)];
      try {
        tables.append(cell, read_shard(shard_path(cell.key), cell.key));
        merged.push_back(row);
      } catch (const ArchiveDamaged& error) {
        set_aside(cell.key + ".h5", error.what());
        forget_outcome(cell);
        forget_outcome(planned(cell.key));
      }
    }
    pending_ = std::move(merged);
    rows = tables.flush();
  }
  ArchiveIndex changed{index_->head, std::move(cells), index_->provenance};
  write_index(file.get(), changed, rows);
  cells = std::move(changed.cells);
  file.close_checked("close " + temporary);
}

void Archive::rewrite(const std::string& temporary, std::vector<CellRecord>& cells) const {
  const H5File from = open_h5(path_);
  H5File to = create_h5(temporary);
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    std::vector<MovedRows> moved;
    std::int64_t next = 0;
    for (CellRecord& cell : cells) {
      moved.push_back({cell.index, cell.rows[i]});
      cell.rows[i].offset = next;
      next += cell.rows[i].rows;
    }
    copy_rows(from.get(), to.get(), std::string(kCellTables[i]), moved);
  }
  create_device_table(to.get());
  ArchiveIndex changed{index_->head, std::move(cells), index_->provenance};
  write_index(to.get(), changed, rows_in_all(changed.cells));
  cells = std::move(changed.cells);
  to.close_checked("close " + temporary);
}

std::vector<std::string> Archive::provenance_files() const {
  std::vector<std::string> files;
  for (const std::string& name : names_in(folder_)) {
    if (name.ends_with(kProvenanceEnd)) files.push_back(in_folder(name));
  }
  return files;
}

/// A run that changes nothing leaves no trace, so this waits for the first cell.
void Archive::write_provenance() {
  if (options_.provenance.empty()) return;
  Table row{"provenance", {}};
  add_provenance(row, options_.provenance);
  const std::string name = in_folder(table_digest(row) + std::string(kProvenanceEnd));
  const std::string before = std::exchange(provenance_file_, name);
  if (before == name) return;
  const std::string temporary = in_folder("provenance.tmp");
  H5File file = create_h5(temporary);
  write_packed_table(file.get(), row);
  file.close_checked("close " + temporary);
  publish(files_, temporary, name);
  if (!before.empty()) files_.remove(before);
}

}  // namespace sweep
