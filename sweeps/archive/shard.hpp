#pragma once
#include <string>
#include <vector>

#include "sweeps/archive/stored_cells.hpp"

namespace sweep {

/// The bytes and a line with their SHA-256.
std::string sealed(std::string bytes);
/// Throws ArchiveDamaged, prefixed with `name`, unless the bytes are as sealed() made them.
void check_seal(const std::string& bytes, const std::string& name);

/// The sealed tables of these cells, at least one. Throws TableError when the columns of a table
/// differ in length.
std::string shard_bytes(std::vector<ShardContents> cells);
std::string shard_bytes(ShardContents cell);

/// Reads a shard and checks all its bytes. `threads` unpack tables. Throws ArchiveDamaged, or
/// ArchiveIncompatible if a later program wrote it.
StoredCells open_shard(const std::string& path, int threads = 1);
/// The cells in the bytes of a shard; `name` is for messages.
StoredCells open_shard(std::string bytes, const std::string& name, int threads = 1);

/// The shards beside an archive, sorted.
std::vector<std::string> shard_files(const std::string& archive);

}  // namespace sweep
