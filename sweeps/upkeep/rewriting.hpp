#pragma once
// Private to this room.
#include <functional>
#include <optional>
#include <string>

#include "sweeps/archive/file.hpp"
#include "sweeps/archive/shard.hpp"

namespace sweep {

/// Whether the two cells say alike how much of their results is stored, so that equal results have
/// equal records.
bool told_alike(const CellRecord& a, const CellRecord& b);
/// Removes what a record says of its level, and its digest, which follows from its tables.
void forget_level(CellRecord& cell);

/// The digest of the cell's figures, notes and tables of this level.
std::string digest_at(ShardContents cell, RecordLevel level);

/// The tables of a cell; it may change the record. Empty for a cell without an outcome.
using ContentsOf = std::function<std::optional<ShardContents>(CellRecord& cell)>;

/// Writes a complete archive under a name that must not exist. The file is read back before it gets
/// its name. Throws ArchiveWriteFailed, and what `contents_of` throws; then there is no file.
void write_new_archive(const std::string& target, ArchiveIndex index,
                       const ContentsOf& contents_of);

}  // namespace sweep
