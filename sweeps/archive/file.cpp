#include "sweeps/archive/file.hpp"

#include <algorithm>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/format.hpp"
#include "sweeps/archive/histograms.hpp"
#include "sweeps/archive/shard.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/bytes.hpp"
#include "sweeps/hdf5/digest.hpp"

namespace sweep {
namespace {

constexpr const char* kFooter = "footer";
constexpr const char* kObjectsDigest = "objects_sha256";
constexpr const char* kGeneration = "generation";

template <class Value>
void set_attribute(hid_t object, const std::string& name, const Value& value) {
  if (has_attribute(object, name)) {
    h5_check(H5Adelete(object, name.c_str()), "replace the attribute " + name);
  }
  write_attribute(object, name, value);
}

std::int64_t count_status(const std::vector<CellRecord>& cells, CellStatus status) {
  return std::count_if(cells.begin(), cells.end(),
                       [status](const CellRecord& cell) { return cell.status == status; });
}

void write_head(hid_t file, const ArchiveIndex& index) {
  set_attribute(file, "format", std::string(kArchiveFormat));
  set_attribute(file, "schema_major", kSchemaMajor);
  set_attribute(file, "schema_minor", kSchemaMinor);
  set_attribute(file, "sweep_name", index.head.sweep_name);
  set_attribute(file, "spec_sha256", sha256_of(index.head.spec_text));
  set_attribute(file, "created_utc", index.head.created_utc);
  set_attribute(file, "tool_version", index.head.tool_version);
  set_attribute(file, "n_cells", static_cast<std::int64_t>(index.cells.size()));
  set_attribute(file, "n_ok", count_status(index.cells, CellStatus::ok));
  set_attribute(file, "complete",
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
  const std::string objects = objects_digest(file, kFooter);
  write_packed_table(file, footer_table(rows));
  H5Dataset footer(H5Dopen2(file, kFooter, H5P_DEFAULT), "open the footer");
  write_fixed_attribute(footer.get(), "cells_sha256", table_digest(cells));
  write_fixed_attribute(footer.get(), kObjectsDigest, objects);
  write_attribute(footer.get(), kGeneration, generation);
  footer.close_checked("close the footer");
}

void check_cells_digest(hid_t file, const Table& cells) {
  if (stored_cells_digest(file) == table_digest(cells)) return;
  throw H5Error("the table cells does not have the digest in the footer");
}

constexpr const char* kRecovery = "recovery";
// Damage to a chunk costs at most this many records.
constexpr std::size_t kChunkCells = 64;

Table head_table(const ArchiveHead& head) {
  using Texts = std::vector<std::string>;
  return {"head",
          {{"sweep_name", "", "name of the sweep", false, {}, Texts{head.sweep_name}},
           {"spec_text", "", "the sweep file", false, {}, Texts{head.spec_text}},
           {"created_utc", "", "when the archive was made", true, {}, Texts{head.created_utc}},
           {"tool_version", "", "what wrote it last", true, {}, Texts{head.tool_version}}}};
}

}  // namespace

void check_rows(hid_t file, const std::vector<CellRecord>& cells) {
  const Table footer = read_packed_table(file, "footer");
  const auto& rows = footer.values<std::int64_t>("rows");
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const std::string table(kCellTables[i]);
    const std::int64_t stored = stored_rows(file, table);
    const bool told = i < rows.size() || i >= kEarliestTables;
    if (!told || stored != (i < rows.size() ? rows[i] : 0)) {
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

namespace {

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
  check_rows(file, index.cells);
  return index;
}

void check_is_hdf5(const std::string& path) {
  check_is_file(path);
  static_cast<void>(Descriptor(path, 0));  // throws FileError with the reason if it cannot be read
  silence_h5();
  try {
    if (h5_check(H5Fis_hdf5(path.c_str()), "open " + path) > 0) return;
  } catch (const H5Error&) {  // e.g. an empty file
  }
  throw ArchiveDamaged(path + " is not an archive: it is not an HDF5 file");
}

}  // namespace

std::array<RowRange, kCellTables.size()> rows_in_all(const std::vector<CellRecord>& cells) {
  std::array<RowRange, kCellTables.size()> all;
  for (const CellRecord& cell : cells) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].rows += cell.rows[i].rows;
  }
  return all;
}

void create_archive_file(const std::string& path, const ArchiveIndex& index) {
  const ShardContents nothing;
  H5File file = create_h5(path);
  for (const Table* table : nothing.tables()) create_growing_table(file.get(), *table);
  write_index(file.get(), index, {});
  file.close_checked("close " + path);
}

void write_index(hid_t file, const ArchiveIndex& index,
                 const std::array<RowRange, kCellTables.size()>& rows) {
  for (const char* part : {"footer", "recovery", "cells", "hist", "provenance", "spec"}) {
    if (has_object(file, part)) remove_object(file, part);
  }
  write_head(file, index);
  H5Group spec = create_group(file, "spec");
  write_text(spec.get(), "toml", index.head.spec_text);
  spec.close_checked("close the group spec");
  const CellsTable cells = to_cells_table(index.cells);
  write_cells(file, cells);
  write_histograms(file, index.cells);
  write_table(file, index.provenance);
  write_recovery(file, index.head, cells);
  write_footer(file, cells.table, index.generation, rows);
}

std::int64_t read_generation(hid_t file) {
  const H5Dataset footer(H5Dopen2(file, kFooter, H5P_DEFAULT), "open the footer");
  if (!has_attribute(footer.get(), kGeneration)) return 0;
  return read_integer_attribute(footer.get(), kGeneration);
}

std::string stored_cells_digest(hid_t file) {
  const H5Dataset footer(H5Dopen2(file, kFooter, H5P_DEFAULT), "open the footer");
  return read_fixed_attribute(footer.get(), "cells_sha256");
}

void check_objects(hid_t file) {
  const H5Dataset footer(H5Dopen2(file, kFooter, H5P_DEFAULT), "open the footer");
  if (!has_attribute(footer.get(), kObjectsDigest)) return;
  if (read_fixed_attribute(footer.get(), kObjectsDigest) == objects_digest(file, kFooter)) return;
  throw H5Error("its tables are not described as the footer says");
}

OpenArchive open_archive_file(const std::string& path, CellRows cells) {
  check_is_hdf5(path);
  try {
    H5File file = open_h5(path);
    check_heaps(file.get());
    ArchiveIndex index = index_in(file.get(), path, cells);
    return {std::move(file), std::move(index)};
  } catch (const H5Error& error) {
    throw ArchiveDamaged(path + " is damaged: " + error.what());
  } catch (const TableError& error) {
    throw ArchiveDamaged(path + " is damaged: " + error.what());
  }
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

void write_recovery(hid_t file, const ArchiveHead& head, const CellsTable& cells) {
  H5Group group = create_group(file, kRecovery);
  write_packed_table(group.get(), head_table(head));
  write_packed_cells(group.get(), cells, kChunkCells);
  for (const char* copy : {"head", "cells"}) {
    H5Dataset dataset(H5Dopen2(group.get(), copy, H5P_DEFAULT), "open a copy");
    write_attribute(dataset.get(), "volatile",
                    std::int64_t{1});  // some of its columns are volatile
    dataset.close_checked("close a copy");
  }
  group.close_checked("close the group recovery");
}

ArchiveIndex read_recovery(hid_t file) {
  const H5Group group(H5Gopen2(file, kRecovery, H5P_DEFAULT), "open the group recovery");
  const Table head = read_packed_table(group.get(), "head");
  const auto text = [&head](const char* column) { return head.values<std::string>(column).at(0); };
  ArchiveIndex index;
  index.head = {text("sweep_name"), text("spec_text"), text("created_utc"), text("tool_version")};
  index.cells = to_records(read_packed_cells(group.get()));
  return index;
}

}  // namespace sweep
