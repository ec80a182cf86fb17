#pragma once
// The file results.h5: everything except the rows of its cells.
#include <span>
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Which sweep an archive belongs to, and which program wrote it.
struct ArchiveHead {
  std::string sweep_name;
  std::string spec_text;  // the sweep file, verbatim
  std::string created_utc;
  std::string tool_version;  // of the last program that wrote it
};

/// The small parts of an archive, which every merge rewrites.
struct ArchiveIndex {
  ArchiveHead head;
  std::vector<CellRecord> cells;          // in plan order
  Table provenance = {"provenance", {}};  // one row per run of the driver, texts
  std::int64_t generation = 0;            // increases with each file that replaces the archive
  std::string cells_digest{};             // of /cells in the file, which may lack later outcomes
};

/// The number of rows that the cells have in each table.
std::array<RowRange, kCellTables.size()> rows_in_all(const std::vector<CellRecord>& cells);

/// Creates an archive file with empty tables and closes it. The cells must have no rows.
void create_archive_file(const std::string& path, const ArchiveIndex& index);

/// Replaces the file's index. `rows` are the rows of its tables. The footer, which is written last,
/// repeats them and has the digests of /cells and of everything that describes the tables.
void write_index(hid_t file, const ArchiveIndex& index,
                 const std::array<RowRange, kCellTables.size()>& rows);

/// Writes a second copy of /cells and of the head to the group /recovery, in small chunks with
/// checksums. None of it is in a heap, since HDF5's heaps have no checksums.
void write_recovery(hid_t file, const ArchiveHead& head, const CellsTable& cells);
/// Reads it back, without histograms and provenance. Throws H5Error or TableError.
ArchiveIndex read_recovery(hid_t file);

struct OpenArchive {
  H5File file;
  ArchiveIndex index;
};

/// What becomes of the rows of /cells: read as records, or only compared with their digest.
enum class CellRows { read, checked };

/// Opens an archive for reading and checks its index: the digest, the footer, the lengths of all
/// tables and, of cells that are read, their ranges in them. Throws ArchiveDamaged or
/// ArchiveIncompatible.
OpenArchive open_archive_file(const std::string& path, CellRows cells = CellRows::read);

/// Compares the lengths of all tables with the footer and the cells' ranges. Throws H5Error.
void check_rows(hid_t file, const std::vector<CellRecord>& cells);

/// The generation of the archive file (ArchiveIndex); 0 in archives of schema minors below 3.
std::int64_t read_generation(hid_t file);
/// The digest of /cells in the footer.
std::string stored_cells_digest(hid_t file);

/// Compares names, types, shapes and attributes of everything in the file with the footer's digest.
/// Archives of schema minors below 3 have no such digest. Throws H5Error.
void check_objects(hid_t file);

/// Reads a finished file back from the disk. Throws ArchiveWriteFailed unless it holds this index,
/// every chunk of its tables is whole, and the rows of `cells` (positions in the index) match their
/// cells' digests, which another thread computes if `threads` is above 1.
void verify_archive_file(const std::string& path, const ArchiveIndex& written,
                         std::span<const int> cells, int threads = 1);

/// Adds a row of texts to a table of texts, and the columns that the table lacks. Does not add a
/// row that the table already has.
void add_provenance(Table& provenance, const std::vector<Note>& row);

}  // namespace sweep
