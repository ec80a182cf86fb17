#pragma once
// Private to this folder: results.h5 itself, apart from the rows of its cells.
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
};

/// Rows that an index accounts for, table by table.
std::array<RowRange, kCellTables.size()> rows_in_all(const std::vector<CellRecord>& cells);

/// A new archive file whose tables have no rows, closed.
void create_archive_file(const std::string& path, ArchiveIndex index);
/// Tables of an archive that no cell fills.
void create_device_table(hid_t file);

/// Puts this index in place of the file's. `rows` are those of its tables; the footer, written
/// last, repeats them.
void write_index(hid_t file, const ArchiveIndex& index,
                 const std::array<RowRange, kCellTables.size()>& rows);

struct OpenArchive {
  H5File file;
  ArchiveIndex index;
};

/// Opens an archive for reading and checks its index: its digest, the footer, the lengths of all
/// tables and the cells' ranges in them. Throws ArchiveDamaged or ArchiveIncompatible.
OpenArchive open_archive_file(const std::string& path);

/// Adds a row of texts to a table of texts, which gains the columns that it lacks. A row that is
/// there already is not added again.
void add_provenance(Table& provenance, const std::vector<Note>& row);

}  // namespace sweep
