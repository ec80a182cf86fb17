#include "sweeps/archive/format.hpp"

#include "sweeps/archive/errors.hpp"
#include "sweeps/hdf5/packed_table.hpp"

namespace sweep {

std::string lines_of(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + '\n';
  return lines;
}

void write_packed_cells(hid_t parent, const CellsTable& cells, std::size_t chunk_rows) {
  write_attribute(parent, "axes", lines_of(cells.axes));
  write_attribute(parent, "figures", lines_of(cells.figures));
  write_attribute(parent, "notes", lines_of(cells.notes));
  write_packed_table(parent, cells.table, chunk_rows);
}

CellsTable read_packed_cells(hid_t parent) {
  return {read_packed_table(parent, "cells"), split(read_text_attribute(parent, "axes"), "\n"),
          split(read_text_attribute(parent, "figures"), "\n"),
          split(read_text_attribute(parent, "notes"), "\n")};
}

void check_schema(std::int64_t major, const std::string& path) {
  if (major <= kSchemaMajor) return;
  throw ArchiveIncompatible(path + " has schema " + std::to_string(major) +
                            ", and this program reads schemas up to " +
                            std::to_string(kSchemaMajor) + "; a newer kvsweep wrote it");
}

Table footer_table(const std::array<RowRange, kCellTables.size()>& rows) {
  std::vector<std::string> tables;
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].rows == 0) continue;
    tables.emplace_back(kCellTables[i]);
    counts.push_back(rows[i].rows);
  }
  return {"footer",
          {{"table", "", "name of a table", false, {}, std::move(tables)},
           {"rows", "", "rows of the table", false, {}, std::move(counts)}}};
}

std::string to_text(const LockHolder& holder) {
  std::string text = "process " + std::to_string(holder.pid) + " on host " + holder.host;
  if (!holder.slurm_job.empty()) text += " (SLURM job " + holder.slurm_job + ")";
  return text;
}

ArchiveInUse::ArchiveInUse(const std::string& path, LockHolder by)
    : ArchiveError(path + " is in use by " + to_text(by)), holder(std::move(by)) {}

}  // namespace sweep
