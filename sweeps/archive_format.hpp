#pragma once
// Private to this folder: what the files of an archive have in common.
#include "sweeps/cells_table.hpp"
#include "sweeps/h5.hpp"

namespace sweep {

inline constexpr std::string_view kArchiveFormat = "kvsweep", kShardFormat = "kvsweep-shard";
/// A major counts up when a name or a meaning changes; a minor when something is added.
inline constexpr std::int64_t kSchemaMajor = 1, kSchemaMinor = 3;

/// Throws ArchiveIncompatible with both numbers when `major` is newer than this program's.
void check_schema(std::int64_t major, const std::string& path);

/// /cells as one dataset of rows, and attributes of its parent that name axes, figures and notes.
void write_packed_cells(hid_t parent, const CellsTable& cells, std::size_t chunk_rows);
/// Throws H5Error.
CellsTable read_packed_cells(hid_t parent);

/// The last object that is written to a file: rows of each table.
Table footer_table(const std::array<RowRange, kCellTables.size()>& rows);

}  // namespace sweep
