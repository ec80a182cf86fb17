#pragma once
// The file results.h5.
#include <functional>
#include <string>
#include <vector>

#include "sweeps/archive/spare.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Rows of a cell in a table, by its position in kCellTables; called for one after the other in
/// which its record has rows. Empty: the cell has none.
using RowsOfCell = std::function<Table(std::size_t table)>;

/// Writes a new file with the cells of an index, one after the other, and sets their row ranges:
/// the only way in which an archive comes to be. `rows_of` may change the cell's outcome; `threads`
/// pack columns. Throws H5Error, also when the path exists, and FileError; then the file is no
/// archive.
void write_archive(const std::string& path, ArchiveIndex& index,
                   const std::function<RowsOfCell(CellRecord& cell)>& rows_of, int threads = 1);
/// The part of it that is not rows of cells.
void write_index(hid_t file, const ArchiveIndex& index);

/// Opens an archive for reading and checks its index by the digest of /cells. `threads` unpack
/// tables. Throws ArchiveDamaged or ArchiveIncompatible.
StoredCells open_archive_file(const std::string& path, int threads = 1);
/// Also throws ArchiveDamaged unless the file has its spare copy, whole.
StoredCells open_whole_archive(const std::string& path, int threads = 1);

/// Contradictions and unreadable parts of an archive, a sentence each: the spare copy, keys,
/// ranges, and each cell's rows, which must have its digest.
std::vector<std::string> problems_of(StoredCells& archive);

/// Reads a finished file back from the disk. Returns the digest of its /cells. Throws
/// ArchiveWriteFailed unless it holds this index and has no problems.
std::string verify_archive_file(const std::string& path, const ArchiveIndex& written,
                                int threads = 1);

/// Adds a row of texts to a table of texts, and the columns that the table lacks. Does not add a
/// row that the table already has.
void add_provenance(Table& provenance, const std::vector<Note>& row);

}  // namespace sweep
