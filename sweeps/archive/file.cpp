#include "sweeps/archive/file.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/format.hpp"
#include "sweeps/archive/histograms.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/archive/spare.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/chunks.hpp"
#include "sweeps/hdf5/packed_table.hpp"
#include "sweeps/hdf5/stored_table.hpp"

namespace sweep {
namespace {

constexpr const char* kFooter = "footer";
constexpr const char* kGeneration = "generation";

std::int64_t count_status(const std::vector<CellRecord>& cells, CellStatus status) {
  return std::count_if(cells.begin(), cells.end(),
                       [status](const CellRecord& cell) { return cell.status == status; });
}

void write_head(hid_t file, const ArchiveIndex& index) {
  write_attribute(file, "format", std::string(kArchiveFormat));
  write_attribute(file, "schema_major", kSchemaMajor);
  write_attribute(file, "schema_minor", kSchemaMinor);
  write_attribute(file, "sweep_name", index.head.sweep_name);
  write_attribute(file, "spec_sha256", sha256_of(index.head.spec_text));
  write_attribute(file, "created_utc", index.head.created_utc);
  write_attribute(file, "tool_version", index.head.tool_version);
  write_attribute(file, "n_cells", static_cast<std::int64_t>(index.cells.size()));
  write_attribute(file, "n_ok", count_status(index.cells, CellStatus::ok));
  write_attribute(file, "complete",
                  std::int64_t{count_status(index.cells, CellStatus::planned) == 0});
}

void write_cells(hid_t file, const CellsTable& cells) {
  write_table(file, cells.table);
  H5Group group(H5Gopen2(file, "cells", H5P_DEFAULT), "open the table cells");
  write_attribute(group.get(), "axes", cells.axes);
  write_attribute(group.get(), "figures", cells.figures);
  write_attribute(group.get(), "notes", cells.notes);
  group.close_checked("close the table cells");
}

CellsTable read_cells(hid_t file) {
  const H5Group group(H5Gopen2(file, "cells", H5P_DEFAULT), "open the table cells");
  return {read_table(file, "cells"), read_texts_attribute(group.get(), "axes"),
          read_texts_attribute(group.get(), "figures"), read_texts_attribute(group.get(), "notes")};
}

void write_footer(hid_t file, const Table& cells, std::int64_t generation,
                  const std::array<RowRange, kCellTables.size()>& rows) {
  write_packed_table(file, footer_table(rows));
  H5Dataset footer(H5Dopen2(file, kFooter, H5P_DEFAULT), "open the footer");
  write_attribute(footer.get(), "cells_sha256", table_digest(cells));
  write_attribute(footer.get(), kGeneration, generation);
  footer.close_checked("close the footer");
}

void check_cells_digest(hid_t file, const Table& cells) {
  if (stored_cells_digest(file) == table_digest(cells)) return;
  throw H5Error("the table cells does not have the digest in the footer");
}

/// Compares the lengths of all tables with the footer and the cells' ranges. Throws H5Error.
void check_rows(const OpenArchive& archive, const std::vector<CellRecord>& cells) {
  const Table footer = read_packed_table(archive.file.get(), kFooter);
  const auto& names = footer.values<std::string>("table");
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const std::string table(kCellTables[i]);
    const std::int64_t stored = archive.tables.rows(i);
    const auto told = static_cast<std::size_t>(std::ranges::find(names, table) - names.begin());
    if (stored != (told < names.size() ? footer.values<std::int64_t>("rows")[told] : 0)) {
      throw H5Error("the table " + table + " has " + std::to_string(stored) +
                    " rows, which is not what the footer says");
    }
    for (const CellRecord& cell : cells) {
      const RowRange& range = cell.rows[i];
      if (range.offset >= 0 && range.rows >= 0 && range.rows <= stored - range.offset) continue;
      throw H5Error("cell " + std::to_string(cell.index) + " has rows beyond the table " + table);
    }
  }
}

ArchiveIndex index_in(hid_t file, const std::string& path, CellRows how) {
  if (read_text_attribute(file, "format") != kArchiveFormat) throw H5Error("it is no archive");
  check_schema(read_integer_attribute(file, "schema_major"), path);
  ArchiveIndex index;
  index.head = {read_text_attribute(file, "sweep_name"), read_text(file, "spec/toml"),
                read_text_attribute(file, "created_utc"),
                read_text_attribute(file, "tool_version")};
  if (read_text_attribute(file, "spec_sha256") != sha256_of(index.head.spec_text))
    throw H5Error("the sweep file in it does not have the SHA-256 beside it");
  const CellsTable cells = read_cells(file);
  check_cells_digest(file, cells.table);
  if (how == CellRows::read) {
    index.cells = to_records(cells);
    read_histograms(file, index.cells);
  }
  index.provenance = read_table(file, "provenance");
  index.generation = read_generation(file);
  index.cells_digest = stored_cells_digest(file);
  return index;
}

void check_is_hdf5(const std::string& path) {
  check_is_file(path);
  silence_h5();
  try {
    if (h5_check(H5Fis_hdf5(path.c_str()), "open " + path) > 0) return;
  } catch (const H5Error&) {  // e.g. an empty file
  }
  throw ArchiveDamaged(path + " is not an archive: it is not an HDF5 file");
}

}  // namespace

void write_index(hid_t file, const ArchiveIndex& index,
                 const std::array<RowRange, kCellTables.size()>& rows) {
  write_head(file, index);
  H5Group spec = create_group(file, "spec");
  write_text(spec.get(), "toml", index.head.spec_text);
  spec.close_checked("close the group spec");
  const CellsTable cells = to_cells_table(index.cells);
  write_cells(file, cells);
  write_histograms(file, index.cells);
  write_table(file, index.provenance);
  write_footer(file, cells.table, index.generation, rows);
}

std::int64_t read_generation(hid_t file) {
  const H5Dataset footer(H5Dopen2(file, kFooter, H5P_DEFAULT), "open the footer");
  if (!has_attribute(footer.get(), kGeneration)) return 0;
  return read_integer_attribute(footer.get(), kGeneration);
}

std::string stored_cells_digest(hid_t file) {
  const H5Dataset footer(H5Dopen2(file, kFooter, H5P_DEFAULT), "open the footer");
  return read_text_attribute(footer.get(), "cells_sha256");
}

OpenArchive open_archive_file(const std::string& path, CellRows cells, int threads) {
  check_is_hdf5(path);
  return reading(path, [&] {
    H5File file = open_h5(path);
    ArchiveIndex index = index_in(file.get(), path, cells);
    CellTables tables(file.get(), threads);
    OpenArchive archive{std::move(file), std::move(tables), std::move(index)};
    check_rows(archive, archive.index.cells);
    return archive;
  });
}

OpenArchive open_whole_archive(const std::string& path) {
  OpenArchive archive = open_archive_file(path);
  reading(path, [&] { check_spare(archive.file.get()); });
  return archive;
}

void add_provenance(Table& provenance, const std::vector<Note>& row) {
  Table changed = provenance;
  const std::size_t rows = changed.rows();
  for (const Note& note : row) {
    if (changed.has(note.name)) continue;
    changed.columns.push_back(
        {note.name, "", "recorded by the driver", true, {}, std::vector<std::string>(rows)});
  }
  std::vector<std::string> fields;
  for (const Column& column : changed.columns) {
    const auto found = std::find_if(row.begin(), row.end(),
                                    [&](const Note& note) { return note.name == column.name; });
    fields.push_back(found == row.end() ? "" : found->text);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    bool same = true;
    for (std::size_t c = 0; c < fields.size(); ++c) {
      same = same && std::get<std::vector<std::string>>(changed.columns[c].data)[i] == fields[c];
    }
    if (same) return;
  }
  for (std::size_t c = 0; c < fields.size(); ++c) {
    std::get<std::vector<std::string>>(changed.columns[c].data).push_back(fields[c]);
  }
  provenance = std::move(changed);
}

namespace {

void check_head(const ArchiveIndex& found, const ArchiveIndex& written) {
  const ArchiveHead &a = found.head, &b = written.head;
  const bool same = a.sweep_name == b.sweep_name && a.spec_text == b.spec_text &&
                    a.created_utc == b.created_utc && a.tool_version == b.tool_version &&
                    found.generation == written.generation &&
                    found.provenance.rows() == written.provenance.rows();
  if (!same) throw H5Error("it is not described as it was written");
}

/// Compares by the footer's digest, which the stored /cells has been checked against.
void check_cells(hid_t file, const std::vector<CellRecord>& written) {
  if (stored_cells_digest(file) == table_digest(to_cells_table(written).table)) return;
  throw H5Error("its cells are not those that were written");
}

void check_results(CellTables& tables, const std::vector<CellRecord>& cells) {
  for (const CellRecord& cell : cells) {
    if (!cell.has_run()) continue;
    ContentDigest digest(cell);
    for (std::size_t i = 0; i < kCellTables.size(); ++i)
      digest.add(i, tables.read(i, cell.rows[i]));
    if (digest.hex() == cell.digest) continue;
    throw H5Error("the results of " + cell.label + " do not have their digest");
  }
}

}  // namespace

void verify_archive_file(const std::string& path, const ArchiveIndex& written, int threads) {
  try {
    OpenArchive archive = open_archive_file(path, CellRows::checked, threads);
    check_head(archive.index, written);
    check_cells(archive.file.get(), written.cells);
    check_rows(archive, written.cells);
    check_spare(archive.file.get());
    check_chunks(archive.file.get());
    check_results(archive.tables, written.cells);
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw ArchiveWriteFailed(
        "the file that was to replace the archive does not hold what was "
        "written to it: " +
        std::string(error.what()));
  }
}

}  // namespace sweep
