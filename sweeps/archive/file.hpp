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

/// Writes the index to a new file whose tables have these rows. The footer, which is written last,
/// repeats them and has the digest of /cells.
void write_index(hid_t file, const ArchiveIndex& index,
                 const std::array<RowRange, kCellTables.size()>& rows);

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
/// Also throws ArchiveDamaged unless the file has its spare copy, whole.
OpenArchive open_whole_archive(const std::string& path);

/// Compares the lengths of all tables with the footer and the cells' ranges. Throws H5Error.
void check_rows(hid_t file, const std::vector<CellRecord>& cells);

/// The generation of the archive file (ArchiveIndex); 0 in archives of schema minors below 3.
std::int64_t read_generation(hid_t file);
/// The digest of /cells in the footer.
std::string stored_cells_digest(hid_t file);

/// Reads a finished file back from the disk. Throws ArchiveWriteFailed unless it holds this index,
/// every chunk of its tables is whole, and the rows of `cells` (positions in the index) match their
/// cells' digests, which another thread computes if `threads` is above 1.
void verify_archive_file(const std::string& path, const ArchiveIndex& written,
                         std::span<const int> cells, int threads = 1);

/// Adds a row of texts to a table of texts, and the columns that the table lacks. Does not add a
/// row that the table already has.
void add_provenance(Table& provenance, const std::vector<Note>& row);

}  // namespace sweep
