#include "sweeps/archive/shard.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/format.hpp"
#include "sweeps/archive/histograms.hpp"
#include "sweeps/archive/shard_reader.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/memory_file.hpp"
#include "sweeps/hdf5/packed_table.hpp"

namespace sweep {

namespace {

using Records = std::vector<CellRecord>;
using Tables = std::array<const Table*, kCellTables.size()>;

/// Whether the shard needs the histograms of its steps.
bool lacks_steps(const Records& records) {
  return std::ranges::any_of(
      records, [](const CellRecord& record) { return record.level < RecordLevel::all; });
}

/// The bytes of the HDF5 file.
std::string body_of(const Records& records, const Tables& tables) {
  MemoryH5 file;
  write_attribute(file.get(), "format", std::string(kShardFormat));
  write_attribute(file.get(), "schema_major", kSchemaMajor);
  write_attribute(file.get(), "schema_minor", kSchemaMinor);
  write_packed_cells(file.get(), to_cells_table(records), records.size());
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    if (i < kAccessTables || tables[i]->rows() > 0) write_packed_table(file.get(), *tables[i]);
  }
  if (lacks_steps(records)) write_packed_table(file.get(), histograms_table(records));
  return file.close();
}

Records records_in(hid_t file) {
  const CellsTable cells = read_packed_cells(file);
  if (cells.table.rows() == 0) throw H5Error("it does not hold a cell");
  return to_records(cells);
}

CellRecord& find(Records& records, const std::string& key) {
  const auto at = std::ranges::find(records, key, &CellRecord::key);
  if (at == records.end()) throw H5Error("it holds the cell " + records.front().key);
  return *at;
}

H5File open_shard(const std::string& bytes, const std::string& name) {
  H5File file = open_h5_bytes({bytes.data(), bytes.size() - kTrailerBytes}, name);
  if (read_text_attribute(file.get(), "format") != kShardFormat) throw H5Error("it is no shard");
  check_schema(read_integer_attribute(file.get(), "schema_major"), name);
  return file;
}

/// Whether a shard of an earlier minor version may lack the table.
bool is_later(const std::string& name) {
  const auto later = std::span(kCellTables).subspan(kEarliestTables);
  return std::find(later.begin(), later.end(), name) != later.end();
}

/// A table with the columns of this version.
Table read_whole_table(hid_t file, const Table& described, int threads) {
  if (is_later(described.name) && !has_object(file, described.name)) return described;
  Table table = read_packed_table(file, described.name, threads);
  add_missing_columns(table, described);
  return table;
}

/// Whether the record has everything that the digest covers beside the rows, and their ranges.
bool same_record(const CellRecord& a, const CellRecord& b) {
  const ShardContents no_rows;
  return a.rows == b.rows &&
         content_digest(a, no_rows.tables()) == content_digest(b, no_rows.tables());
}

/// Whether the file has these rows.
bool holds_table(hid_t file, const Table& table) {
  return is_later(table.name) && !has_object(file, table.name) ? table.rows() == 0
                                                               : packed_table_holds(file, table);
}

/// Whether the bytes hold these contents. Reads some rows at a time, since cells may be large, and
/// compares the values, without the cost of their digest.
bool holds(const std::string& bytes, const std::string& name, const Records& records,
           const Tables& tables) {
  ShardReader found(bytes, name);
  return reading(name, [&] {
    bool same = std::ranges::equal(found.records(), records, same_record);
    for (std::size_t i = 0; same && i < kCellTables.size(); ++i)
      same = holds_table(found.file(), *tables[i]);
    return same &&
           (!lacks_steps(records) || packed_table_holds(found.file(), histograms_table(records)));
  });
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

std::array<const Table*, kCellTables.size()> ShardContents::tables() const {
  const auto own = result.tables();
  return {own[0],
          own[1],
          own[2],
          own[3],
          own[4],
          &result.telemetry,
          own[5],
          &result.kv_access,
          &result.access_rows,
          &result.access_kernels,
          &result.kv_copies};
}

std::array<Table*, kCellTables.size()> ShardContents::tables() {
  return {&result.jobs,        &result.turns,          &result.steps,     &result.sched,
          &result.kv_events,   &result.telemetry,      &result.evictions, &result.kv_access,
          &result.access_rows, &result.access_kernels, &result.kv_copies};
}

void keep_level(ShardContents& cell, RecordLevel level) {
  if (cell.record.level <= level) return;
  const auto rows = static_cast<std::int64_t>(cell.result.steps.rows());
  if (rows > 0) cell.record.histograms = histograms_of(cell.result.steps, {0, rows});
  for (Table* table : cell.tables()) {
    if (level_of_table(table->name) <= level) continue;
    for (Column& column : table->columns) column = without_rows(column);
  }
  cell.record.level = level;
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
  std::string bytes = body_of(records, all.tables());
  bytes += std::string(kTrailerStart) + sha256_of(bytes) + '\n';
  const std::string name = "the shard of " + records.front().label;
  if (!holds(bytes, name, records, all.tables()))
    throw H5Error(name + " does not hold what was written to it");
  return bytes;
}

std::string shard_bytes(ShardContents cell) {
  std::vector<ShardContents> cells;
  cells.push_back(std::move(cell));
  return shard_bytes(std::move(cells));
}

void check_shard_bytes(const std::string& bytes, const std::string& name) {
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

ShardContents read_shard(const std::string& path, const std::string& key) {
  ShardReader shard(path);
  ShardContents contents;
  contents.record = shard.record(key);
  for (std::size_t i = 0; i < kCellTables.size(); ++i) *contents.tables()[i] = shard.take(key, i);
  contents.result.figures = contents.record.figures;
  contents.result.notes = contents.record.notes;
  if (contents.record.level == RecordLevel::all)
    contents.record.histograms = histograms_of(
        contents.result.steps, {0, static_cast<std::int64_t>(contents.result.steps.rows())});
  return contents;
}

ShardReader::ShardReader(const std::string& path, int threads)
    : ShardReader(file_bytes(path), path) {
  threads_ = threads;
  identity_ = identity_of(path);
}

ShardReader::ShardReader(const std::string& bytes, std::string name) : name_(std::move(name)) {
  check_shard_bytes(bytes, name_);
  reading(name_, [&] {
    file_ = open_shard(bytes, name_);
    records_ = records_in(file_->get());
    if (has_object(file_->get(), "hist"))
      take_histograms(read_packed_table(file_->get(), "hist"), records_);
  });
}

CellRecord& ShardReader::record(const std::string& key) {
  return *reading(name_, [&] { return &find(records_, key); });
}

std::pair<const Table&, RowRange> ShardReader::rows(const std::string& key, std::size_t position) {
  const RowRange own = record(key).rows[position];
  std::optional<Table>& kept = tables_[position];
  reading(name_, [&] {
    if (kept) return;
    if (records_.size() == 1) tables_ = {};
    kept = read_whole_table(file_->get(), described_table(kCellTables[position]), threads_);
    const auto rows = static_cast<std::int64_t>(kept->rows());
    for (const CellRecord& each : records_) {
      const RowRange range = each.rows[position];
      if (range.offset < 0 || range.rows < 0 || range.offset > rows - range.rows)
        throw H5Error("its cells do not fit its table " + kept->name);
    }
  });
  return {*kept, own};
}

Table ShardReader::take(const std::string& key, std::size_t position) {
  const auto [table, own] = rows(key, position);
  if (records_.size() == 1) return std::move(*tables_[position]);
  return rows_in(table, static_cast<std::size_t>(own.offset), static_cast<std::size_t>(own.rows));
}

std::vector<CellRecord> shard_records(const std::string& bytes, const std::string& name) {
  return std::move(ShardReader(bytes, name).records());
}

CellRecord ShardRecords::take(const std::string& path, const std::string& key) {
  const ino_t file = identity_of(path).inode;
  auto at = shared_.find(file);
  if (at == shared_.end()) {
    Records records = shard_records(file_bytes(path), path);
    if (records.size() == 1) return reading(path, [&] { return std::move(find(records, key)); });
    at = shared_.emplace(file, std::move(records)).first;
  }
  return reading(path, [&] { return find(at->second, key); });
}

}  // namespace sweep
