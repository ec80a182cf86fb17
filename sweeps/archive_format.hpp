#pragma once
// Private to this folder: what the files of an archive have in common.
#include "sweeps/cells_table.hpp"

namespace sweep {

inline constexpr std::string_view kArchiveFormat = "kvsweep", kShardFormat = "kvsweep-shard";
/// A major counts up when a name or a meaning changes; a minor when something is added.
inline constexpr std::int64_t kSchemaMajor = 1, kSchemaMinor = 2;

/// Throws ArchiveIncompatible with both numbers when `major` is newer than this program's.
void check_schema(std::int64_t major, const std::string& path);

/// The last object that is written to a file: rows of each table.
Table footer_table(const std::array<RowRange, kCellTables.size()>& rows);

}  // namespace sweep
