#pragma once
// The file results.h5: everything except the rows of its cells.
#include <span>
#include <string>
#include <vector>

#include "sweeps/archive/index.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Writes the index to a new file whose tables have these rows. The footer, which is written last,
/// repeats them and has the digest of /cells.
void write_index(hid_t file, const ArchiveIndex& index,
                 const std::array<RowRange, kCellTables.size()>& rows);

struct OpenArchive {
  H5File file;
  CellTables tables;
  ArchiveIndex index;
};

/// What becomes of the rows of /cells: read as records, or only compared with their digest.
enum class CellRows { read, checked };

/// Opens an archive for reading and checks its index: the digest, the footer, the lengths of all
/// tables and, of cells that are read, their ranges in them. Throws ArchiveDamaged or
/// ArchiveIncompatible.
OpenArchive open_archive_file(const std::string& path, CellRows cells = CellRows::read,
                              int threads = 1);
/// Also throws ArchiveDamaged unless the file has its spare copy, whole.
OpenArchive open_whole_archive(const std::string& path);

/// The generation of the archive file (ArchiveIndex); 0 in archives of schema minors below 3.
std::int64_t read_generation(hid_t file);
/// The digest of /cells in the footer.
std::string stored_cells_digest(hid_t file);

/// Reads a finished file back from the disk. Throws ArchiveWriteFailed unless it holds this index,
/// every chunk of its tables is whole, and the rows of each cell, which `threads` unpack, match its
/// digest.
void verify_archive_file(const std::string& path, const ArchiveIndex& written, int threads = 1);

/// Adds a row of texts to a table of texts, and the columns that the table lacks. Does not add a
/// row that the table already has.
void add_provenance(Table& provenance, const std::vector<Note>& row);

}  // namespace sweep
