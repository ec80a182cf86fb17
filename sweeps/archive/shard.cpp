#include "sweeps/archive/shard.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/archive/failures.hpp"
#include "sweeps/archive/names.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/packed_tables.hpp"

namespace sweep {

namespace {

using Records = std::vector<CellRecord>;
using Tables = std::array<const Table*, kCellTables.size()>;

std::string packed(const Records& records, const Tables& tables) {
  const Table cells = to_cells_table(records).table;
  std::vector<const Table*> all = {&cells};
  std::ranges::copy_if(tables, std::back_inserter(all), &Table::rows);
  return pack_tables(all);
}

CellRecord& find(Records& records, const std::string& key) {
  const auto at = std::ranges::find(records, key, &CellRecord::key);
  if (at == records.end()) throw H5Error("it holds the cell " + records.front().key);
  return *at;
}

/// Whether the record has everything that the digest covers beside the rows, and their ranges.
bool same_record(const CellRecord& a, const CellRecord& b) {
  const ShardContents no_rows;
  return a.rows == b.rows &&
         content_digest(a, no_rows.tables()) == content_digest(b, no_rows.tables());
}

/// Whether the table has these rows, of which it reads some at a time.
bool has_rows(StoredTable& stored, const Table& expected) {
  constexpr std::size_t kMost = 16384;
  const std::size_t rows = expected.rows();
  bool same = stored.rows() == rows;
  for (std::size_t first = 0; same && first < rows; first += kMost) {
    const std::size_t count = std::min(kMost, rows - first);
    same = same_results(stored.read(first, count), rows_in(expected, first, count));
  }
  return same;
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

const Table& described_table(std::string_view name) {
  static const ShardContents kNothing;
  const auto tables = kNothing.tables();
  return **std::ranges::find(tables, name, [](const Table* table) { return table->name; });
}

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
  for (Table* table : cell.tables()) {
    if (level_of_table(table->name) <= level) continue;
    for (Column& column : table->columns) column = without_rows(column);
  }
  cell.record.level = level;
}

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
  std::string bytes = sealed(packed(records, all.tables()));
  const std::string name = "the shard of " + records.front().label;
  if (!ShardReader(bytes, name).holds(records, all.tables()))
    throw H5Error(name + " does not hold what was written to it");
  return bytes;
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
    tables_ = std::make_unique<PackedTables>(std::move(bytes), name_, threads);
    records_ = to_records(as_cells_table(tables_->read("cells")));
    if (records_.empty()) throw H5Error("it does not hold a cell");
  });
}

ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;
ShardReader& ShardReader::operator=(ShardReader&&) noexcept = default;

CellRecord& ShardReader::record(const std::string& key) {
  return *reading(name_, [&] { return &find(records_, key); });
}

/// With the columns of this version, and the rows that the cells have.
Table ShardReader::whole_table(std::size_t position) {
  const Table& described = described_table(kCellTables[position]);
  Table table = tables_->has(described.name) ? tables_->read(described.name) : described;
  add_missing_columns(table, described);
  const auto rows = static_cast<std::int64_t>(table.rows());
  for (const CellRecord& each : records_) {
    const RowRange range = each.rows[position];
    if (range.offset < 0 || range.rows < 0 || range.offset > rows - range.rows)
      throw H5Error("its cells do not fit its table " + table.name);
  }
  return table;
}

Table ShardReader::take(const std::string& key, std::size_t position) {
  const RowRange own = record(key).rows[position];
  return reading(name_, [&] {
    if (records_.size() == 1) return whole_table(position);
    std::optional<Table>& table = shared_[position];
    if (!table) table = whole_table(position);
    return rows_in(*table, static_cast<std::size_t>(own.offset),
                   static_cast<std::size_t>(own.rows));
  });
}

bool ShardReader::holds(const Records& records, const Tables& tables) {
  return reading(name_, [&] {
    bool same = std::ranges::equal(records_, records, same_record);
    for (const Table* table : tables)
      same = same && (table->rows() == 0 ? !tables_->has(table->name)
                                         : has_rows(tables_->at(table->name), *table));
    return same;
  });
}

ShardContents read_shard(const std::string& path, const std::string& key) {
  ShardReader shard(path);
  ShardContents contents;
  contents.record = shard.record(key);
  for (std::size_t i = 0; i < kCellTables.size(); ++i) *contents.tables()[i] = shard.take(key, i);
  contents.result.figures = contents.record.figures;
  contents.result.notes = contents.record.notes;
  return contents;
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
