#pragma once
// Private to this room: what archives and shards have in common.
#include "sweeps/archive/cells_table.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

/// Throws ArchiveIncompatible with both numbers when `major` is newer than this program's.
void check_schema(std::int64_t major, const std::string& path);

/// Each text and a line end.
std::string lines_of(const std::vector<std::string>& texts);

/// Writes /cells as one dataset of rows, with attributes of its parent that name the axes, figures
/// and notes.
void write_packed_cells(hid_t parent, const CellsTable& cells, std::size_t chunk_rows);
/// Throws H5Error.
CellsTable read_packed_cells(hid_t parent);

/// The last object written to a file: the number of rows of each table that has any.
Table footer_table(const std::array<RowRange, kCellTables.size()>& rows);

}  // namespace sweep
