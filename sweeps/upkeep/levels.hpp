#pragma once
// Private to this room.
#include <string>

#include "sweeps/archive/shard.hpp"

namespace sweep {

/// Whether the two cells say alike how much of their results is stored, so that equal results have
/// equal records.
bool told_alike(const CellRecord& a, const CellRecord& b);
/// Removes what a record says of its level, and its digest, which follows from its tables.
void forget_level(CellRecord& cell);

/// The digest of the cell's figures, notes and tables of this level.
std::string digest_at(ShardContents cell, RecordLevel level);

}  // namespace sweep
