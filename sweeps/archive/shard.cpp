#include "sweeps/archive/shard.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/hdf5/packed_tables.hpp"

namespace sweep {

namespace {

using Records = std::vector<CellRecord>;

/// The tables of the cells, one cell's rows after the other's; sets the cells' row ranges.
ShardContents joined(std::vector<ShardContents>& cells) {
  ShardContents all;
  for (ShardContents& cell : cells) {
    for (std::size_t i = 0; i < kCellTables.size(); ++i) {
      Table& to = *all.tables()[i];
      Table& from = *cell.tables()[i];
      cell.record.rows[i] = {to.rows(), from.rows()};
      if (to.rows() == 0) {
        to = std::move(from);
        continue;
      }
      for (Column& column : to.columns)
        append_values(column.data, from.column(column.name).data, {0, from.rows()});
    }
  }
  return all;
}

}  // namespace

std::string sealed(std::string bytes) {
  const std::string digest = sha256_of(bytes);
  return (std::move(bytes) += kTrailerStart) += digest + '\n';
}

void check_seal(const std::string& bytes, const std::string& name) {
  const std::string_view all(bytes);
  const auto fail = [&](const std::string& why) {
    throw ArchiveDamaged(name + " is damaged: " + why);
  };
  const std::string found = std::to_string(all.size()) + " bytes";
  if (all.size() < kTrailerBytes)
    fail("truncated: found " + found + ", a shard has at least " + std::to_string(kTrailerBytes));
  const std::string_view body = all.substr(0, all.size() - kTrailerBytes);
  const std::string_view trailer = all.substr(body.size());
  if (!trailer.starts_with(kTrailerStart) || trailer.back() != '\n')
    fail("its last line, the checksum, is missing from its " + found);
  if (trailer.substr(kTrailerStart.size(), kHexDigits) != sha256_of(body))
    fail("its bytes do not have the SHA-256 in its last line");
}

std::string shard_bytes(std::vector<ShardContents> cells) {
  for (ShardContents& cell : cells) {
    cell.record.figures = cell.result.figures;
    cell.record.notes = cell.result.notes;
    cell.record.digest = content_digest(cell);
  }
  const ShardContents all = joined(cells);
  Records records;
  for (ShardContents& cell : cells) records.push_back(std::move(cell.record));
  const Table listed = to_cells_table(records);
  std::vector<const Table*> tables = {&listed};
  std::ranges::copy_if(all.tables(), std::back_inserter(tables), &Table::rows);
  return sealed(pack_tables(tables));
}

std::string shard_bytes(ShardContents cell) {
  std::vector<ShardContents> cells;
  cells.push_back(std::move(cell));
  return shard_bytes(std::move(cells));
}

StoredCells open_shard(const std::string& path, int threads) {
  return open_shard(file_bytes(path), path, threads);
}

StoredCells open_shard(std::string bytes, const std::string& name, int threads) {
  check_seal(bytes, name);
  bytes.resize(bytes.size() - kTrailerBytes);
  return reading(name, [&] {
    const PackedTables packed(std::move(bytes), threads);
    StoredCells shard(name, {}, [&](const std::string& table) { return packed.find(table); });
    shard.index.cells = to_records(packed.read("cells"));
    if (shard.index.cells.empty()) throw H5Error("it does not hold a cell");
    return shard;
  });
}

std::vector<std::string> shard_files(const std::string& archive) {
  std::vector<std::string> files;
  for (const std::string& name : names_in(archive + ".d"))
    if (name.ends_with(kShardEnd) && is_sha256(name.substr(0, kHexDigits)))
      files.push_back(archive + ".d/" + name);
  return files;
}

}  // namespace sweep
