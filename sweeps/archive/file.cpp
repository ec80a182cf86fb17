#include "sweeps/archive/file.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/h5_table.hpp"

namespace sweep {
namespace {

void write_head(hid_t file, const ArchiveIndex& index) {
  const auto count = [&](CellStatus status) {
    return std::int64_t{std::ranges::count(index.cells, status, &CellRecord::status)};
  };
  write_attribute(file, "format", std::string(kArchiveFormat));
  write_attribute(file, "schema_major", kSchemaMajor);
  write_attribute(file, "schema_minor", kSchemaMinor);
  write_attribute(file, "sweep_name", index.head.sweep_name);
  write_attribute(file, "spec_sha256", sha256_of(index.head.spec_text));
  write_attribute(file, "created_utc", index.head.created_utc);
  write_attribute(file, "tool_version", index.head.tool_version);
  write_attribute(file, "n_cells", static_cast<std::int64_t>(index.cells.size()));
  write_attribute(file, "n_ok", count(CellStatus::ok));
  write_attribute(file, "complete", std::int64_t{count(CellStatus::planned) == 0});
}

void write_cells(hid_t file, const Table& cells) {
  write_table(file, cells);
  H5Group group(H5Gopen2(file, "cells", H5P_DEFAULT), "open the table cells");
  write_attribute(group.get(), "axes", names_of(cells, kAxis));
  write_attribute(group.get(), "figures", names_of(cells, kFigure));
  write_attribute(group.get(), "notes", names_of(cells, kNote));
  group.close_checked("close the table cells");
}

/// Digest of /cells, which archives of schema 1 have in a footer.
std::string cells_digest_in(hid_t file) {
  if (has_attribute(file, kCellsDigest)) return read_text_attribute(file, kCellsDigest);
  const H5Dataset footer(H5Dopen2(file, "footer", H5P_DEFAULT), "open the footer");
  return read_text_attribute(footer.get(), kCellsDigest);
}

/// Throws ArchiveIncompatible if a newer program wrote the file, or one between two releases.
void check_schema(hid_t file, const std::string& path) {
  const std::int64_t major = read_integer_attribute(file, "schema_major"),
                     minor = read_integer_attribute(file, "schema_minor");
  if (major == kSchemaMajor && minor < kLeastMinor)
    throw ArchiveIncompatible(path + " has schema 2." + std::to_string(minor) +
                              ", which no release has written, and this program reads 1 and from "
                              "2.2 on: `kvsweep merge " +
                              path +
                              " -o NEW.h5` of an earlier build, of schema 2.2, writes it anew");
  if (major <= kSchemaMajor) return;
  throw ArchiveIncompatible(path + " has schema " + std::to_string(major) +
                            ", and this program reads schemas up to " +
                            std::to_string(kSchemaMajor) + "; a newer kvsweep wrote it");
}

ArchiveIndex index_in(hid_t file, const std::string& path) {
  if (read_text_attribute(file, "format") != kArchiveFormat) throw H5Error("it is no archive");
  check_schema(file, path);
  ArchiveIndex index;
  index.head = {read_text_attribute(file, "sweep_name"), read_text(file, "spec/toml"),
                read_text_attribute(file, "created_utc"),
                read_text_attribute(file, "tool_version")};
  if (read_text_attribute(file, "spec_sha256") != sha256_of(index.head.spec_text))
    throw H5Error("the sweep file in it does not have the SHA-256 beside it");
  index.cells_digest = cells_digest_in(file);
  const Table cells = read_table(file, "cells");
  if (index.cells_digest != table_digest(cells))
    throw H5Error("the table cells does not have the digest beside it");
  index.cells = to_records(cells);
  index.provenance = read_table(file, "provenance");
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

void write_index(hid_t file, const ArchiveIndex& index) {
  write_head(file, index);
  H5Group spec = create_group(file, "spec");
  write_text(spec.get(), "toml", index.head.spec_text);
  spec.close_checked("close the group spec");
  const Table cells = to_cells_table(index.cells);
  write_cells(file, cells);
  write_table(file, index.provenance);
  write_attribute(file, kCellsDigest, table_digest(cells));
}

StoredCells open_archive_file(const std::string& path, int threads) {
  check_is_hdf5(path);
  return reading(path, [&] {
    const H5File file = open_h5(path);
    StoredCells archive(path, index_in(file.get(), path),
                        [&](const std::string& table) -> std::optional<StoredTable> {
                          if (!has_object(file.get(), table)) return std::nullopt;
                          return stored_table(file.get(), table, threads);
                        });
    if (read_integer_attribute(file.get(), "schema_major") < 2) return archive;
    // Another file may have taken its name.
    void* descriptor = nullptr;
    h5_check(H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &descriptor), "get a file's descriptor");
    archive.spare_problem =
        spare_problem("/proc/self/fd/" + std::to_string(*static_cast<int*>(descriptor)));
    return archive;
  });
}

StoredCells open_whole_archive(const std::string& path, int threads) {
  StoredCells archive = open_archive_file(path, threads);
  if (!archive.spare_problem.empty())
    throw ArchiveDamaged(path + " is damaged: " + archive.spare_problem);
  return archive;
}

void add_provenance(Table& provenance, const std::vector<Note>& row) {
  const std::size_t rows = provenance.rows();
  std::vector<Column>& columns = provenance.columns;
  for (const Note& note : row)
    if (!provenance.has(note.name))
      columns.push_back(
          {note.name, "", "recorded by the driver", true, {}, std::vector<std::string>(rows)});
  const auto texts = [](Column& column) -> std::vector<std::string>& {
    return std::get<std::vector<std::string>>(column.data);
  };
  for (Column& column : columns) {
    const Note* note = find_named(row, column.name);
    texts(column).push_back(note == nullptr ? "" : note->text);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (!std::ranges::all_of(columns,
                             [&](Column& each) { return texts(each)[i] == texts(each)[rows]; }))
      continue;
    for (Column& column : columns) texts(column).pop_back();
    return;
  }
}

}  // namespace sweep
