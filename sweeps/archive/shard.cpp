#include "sweeps/archive/shard.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/hdf5/packed_tables.hpp"

namespace sweep {

namespace {

using Records = std::vector<CellRecord>;

CellRecord& find(Records& records, const std::string& key) {
  const auto at = std::ranges::find(records, key, &CellRecord::key);
  if (at == records.end()) throw H5Error("it holds the cell " + records.front().key);
  return *at;
}

/// The tables of the cells, one cell's rows after the other's; sets the cells' row ranges.
ShardContents joined(std::vector<ShardContents>& cells) {
  ShardContents all;
  for (ShardContents& cell : cells) {
    for (std::size_t i = 0; i < kCellTables.size(); ++i) {
      Table& to = *all.tables()[i];
      Table& from = *cell.tables()[i];
      const std::size_t rows = from.rows();
      cell.record.rows[i] = {static_cast<std::int64_t>(to.rows()), static_cast<std::int64_t>(rows)};
      if (to.rows() == 0) {
        to = std::move(from);
        continue;
      }
      for (Column& column : to.columns)
        append_values(column.data, from.column(column.name).data, 0, rows);
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
  if (all.size() < kTrailerBytes) throw ArchiveDamaged(name + " is damaged: it is truncated");
  const std::string_view body = all.substr(0, all.size() - kTrailerBytes);
  const std::string_view trailer = all.substr(body.size());
  if (!trailer.starts_with(kTrailerStart) || trailer.back() != '\n') {
    throw ArchiveDamaged(name + " is damaged: its last line, the checksum, is missing");
  }
  if (trailer.substr(kTrailerStart.size(), kHexDigits) != sha256_of(body)) {
    throw ArchiveDamaged(name + " is damaged: its bytes do not have the SHA-256 in its last line");
  }
}

std::string shard_bytes(std::vector<ShardContents> cells) {
  for (ShardContents& cell : cells) {
    cell.record.figures = cell.result.figures;
    cell.record.notes = cell.result.notes;
    cell.record.digest = content_digest(cell.record, std::as_const(cell).tables());
  }
  const ShardContents all = joined(cells);
  Records records;
  for (ShardContents& cell : cells) records.push_back(std::move(cell.record));
  const Table listed = to_cells_table(records).table;
  std::vector<const Table*> tables = {&listed};
  std::ranges::copy_if(all.tables(), std::back_inserter(tables), &Table::rows);
  return sealed(pack_tables(tables));
}

std::string shard_bytes(ShardContents cell) {
  std::vector<ShardContents> cells;
  cells.push_back(std::move(cell));
  return shard_bytes(std::move(cells));
}

ShardReader::ShardReader(const std::string& path, int threads)
    : ShardReader(file_bytes(path), path, threads) {
  identity_ = identity_of(path);
}

ShardReader::ShardReader(std::string bytes, std::string name, int threads)
    : name_(std::move(name)) {
  check_seal(bytes, name_);
  bytes.resize(bytes.size() - kTrailerBytes);
  reading(name_, [&] {
    PackedTables packed(std::move(bytes), name_, threads);
    records_ = to_records(as_cells_table(packed.read("cells")));
    if (records_.empty()) throw H5Error("it does not hold a cell");
    tables_ = CellTables([&](const std::string& table) { return packed.find(table); });
  });
}

CellRecord& ShardReader::record(const std::string& key) {
  return *reading(name_, [&] { return &find(records_, key); });
}

Table ShardReader::take(const std::string& key, std::size_t position) {
  const RowRange own = record(key).rows[position];
  return reading(name_, [&] { return tables_.read(position, own); });
}

ShardContents ShardReader::load(const std::string& key) {
  const CellRecord& cell = record(key);
  return reading(name_, [&] { return tables_.load(cell); });
}

CellRecord ShardRecords::take(const std::string& path, const std::string& key) {
  const ino_t file = identity_of(path).inode;
  auto at = shared_.find(file);
  if (at == shared_.end()) {
    ShardReader shard(path);
    if (shard.records().size() == 1) return std::move(shard.record(key));
    at = shared_.emplace(file, std::move(shard.records())).first;
  }
  return reading(path, [&] { return find(at->second, key); });
}

}  // namespace sweep
