#pragma once
// Private to this folder: results.h5 itself, apart from the rows of its cells.
#include <span>
#include <string>
#include <vector>

#include "sweeps/cells_table.hpp"
#include "sweeps/h5.hpp"

namespace sweep {

/// Of which sweep an archive is.
struct ArchiveHead {
  std::string sweep_name;
  std::string spec_text;  // the sweep file, verbatim
  std::string created_utc;
  std::string tool_version;  // of the program that wrote last
};

/// Everything in an archive that is small: rewritten by every merge.
struct ArchiveIndex {
  ArchiveHead head;
  std::vector<CellRecord> cells;          // in plan order
  Table provenance = {"provenance", {}};  // one row per run of the driver, texts
  std::int64_t generation = 0;            // counts the files that have been this archive
};

/// Rows that an index accounts for, table by table.
std::array<RowRange, kCellTables.size()> rows_in_all(const std::vector<CellRecord>& cells);

/// A new archive file whose tables have no rows, closed.
void create_archive_file(const std::string& path, ArchiveIndex index);
/// Tables of an archive that no cell fills.
void create_device_table(hid_t file);

/// Puts this index in place of the file's. `rows` are those of its tables; the footer, written
/// last, repeats them, with the digests of /cells and of all that describes the tables.
void write_index(hid_t file, const ArchiveIndex& index,
                 const std::array<RowRange, kCellTables.size()>& rows);

/// A second copy of /cells and of what the archive is, in the group /recovery: small chunks with
/// checksums, and nothing in a heap without one.
void write_recovery(hid_t file, const ArchiveHead& head, const CellsTable& cells);
/// What it says, without histograms and provenance. Throws H5Error or TableError.
ArchiveIndex read_recovery(hid_t file);

struct OpenArchive {
  H5File file;
  ArchiveIndex index;
};

/// Opens an archive for reading and checks its index: its digest, the footer, the lengths of all
/// tables and the cells' ranges in them. Throws ArchiveDamaged or ArchiveIncompatible.
OpenArchive open_archive_file(const std::string& path);

/// Which of the files that have been this archive; 0 in archives of schema minors below 3.
std::int64_t read_generation(hid_t file);
/// The digest of /cells in the footer.
std::string stored_cells_digest(hid_t file);

/// Compares names, types, shapes and attributes of everything in the file with the footer's digest,
/// which archives of schema minors below 3 lack. Throws H5Error.
void check_objects(hid_t file);

/// Reads a finished file as it came to lie on the disk, and throws ArchiveWriteFailed unless it
/// holds this index, every chunk of its tables is whole, and the rows of `cells` (positions in the
/// index) have their cells' digests.
void verify_archive_file(const std::string& path, const ArchiveIndex& written,
                         std::span<const int> cells);

/// Adds a row of texts to a table of texts, which gains the columns that it lacks. A row that is
/// there already is not added again.
void add_provenance(Table& provenance, const std::vector<Note>& row);

}  // namespace sweep
