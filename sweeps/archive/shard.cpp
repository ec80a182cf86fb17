#include "sweeps/archive/shard.hpp"

#include <algorithm>
#include <utility>

#include "sweeps/archive/errors.hpp"
#include "sweeps/archive/format.hpp"
#include "sweeps/archive/histograms.hpp"
#include "sweeps/archive/shard_reader.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/h5.hpp"

namespace sweep {

namespace {

constexpr std::string_view kTrailerStart = "\nkvsweep shard sha256 ";
constexpr std::size_t kHexDigits = 64;
constexpr std::size_t kTrailerBytes = kTrailerStart.size() + kHexDigits + 1;  // with the line end

/// The bytes of the HDF5 file.
std::string body_of(const ShardContents& contents) {
  MemoryH5 file;
  write_fixed_attribute(file.get(), "format", std::string(kShardFormat));
  write_attribute(file.get(), "schema_major", kSchemaMajor);
  write_attribute(file.get(), "schema_minor", kSchemaMinor);
  write_packed_cells(file.get(), to_cells_table({&contents.record, 1}), 1);
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const Table& table = *contents.tables()[i];
    if (i < kAccessTables || table.rows() > 0) write_packed_table(file.get(), table);
  }
  write_packed_table(file.get(), footer_table(contents.record.rows));
  return file.close();
}

CellRecord record_in(hid_t file) {
  const CellsTable cells = read_packed_cells(file);
  if (cells.table.rows() != 1) throw H5Error("it does not hold exactly one cell");
  return to_records(cells).front();
}

/// Rows of each table.
using RowCounts = std::array<std::size_t, kCellTables.size()>;

RowCounts row_counts(const ShardContents& contents) {
  RowCounts rows{};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = contents.tables()[i]->rows();
  return rows;
}

void check_footer(hid_t file, const RowCounts& found) {
  const std::vector<std::int64_t> rows =
      read_packed_table(file, "footer").values<std::int64_t>("rows");
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const bool told = i < rows.size() || i >= kEarliestTables;
    const std::int64_t count = i < rows.size() ? rows[i] : 0;
    if (told && static_cast<std::size_t>(count) == found[i]) continue;
    throw H5Error("its footer does not fit its table " + std::string(kCellTables[i]));
  }
}

/// Returns `read()`. A failed read means that the shard of that name is damaged.
template <class Read>
auto reading_shard(const std::string& name, Read read) {
  try {
    return read();
  } catch (const H5Error& error) {
    throw ArchiveDamaged(name + " is damaged: " + error.what());
  } catch (const TableError& error) {
    throw ArchiveDamaged(name + " is damaged: " + error.what());
  }
}

H5File open_shard(const std::string& bytes, const std::string& name) {
  H5File file = open_h5_bytes({bytes.data(), bytes.size() - kTrailerBytes}, name);
  if (read_fixed_attribute(file.get(), "format") != kShardFormat) throw H5Error("it is no shard");
  check_schema(read_integer_attribute(file.get(), "schema_major"), name);
  return file;
}

/// Checks the bytes, then returns `read(file)`.
template <class Read>
auto read_checked(const std::string& bytes, const std::string& name, Read read) {
  check_shard_bytes(bytes, name);
  return reading_shard(name, [&] {
    const H5File file = open_shard(bytes, name);
    return read(file.get());
  });
}

/// A table of an earlier minor version's shard may be missing.
Table read_cell_table(hid_t file, const Table& described) {
  const auto later = std::span(kCellTables).subspan(kEarliestTables);
  const bool may_lack = std::find(later.begin(), later.end(), described.name) != later.end();
  if (may_lack && !has_object(file, described.name)) return described;
  return read_packed_table(file, described.name);
}

/// The same with the columns of this version.
Table read_whole_table(hid_t file, const Table& described) {
  Table table = read_cell_table(file, described);
  add_missing_columns(table, described);
  return table;
}

void check_key(const CellRecord& record, const std::string& key) {
  if (record.key != key) throw H5Error("it holds the cell " + record.key);
}

/// Whether the record has everything that the digest covers beside the rows.
bool same_record(const CellRecord& a, const CellRecord& b) {
  const ShardContents no_rows;
  return content_digest(a, no_rows.tables()) == content_digest(b, no_rows.tables());
}

/// Whether the bytes hold these contents. Reads a table at a time, since cells may be large, and
/// compares the values, without the cost of their digest.
bool holds(const std::string& bytes, const std::string& name, const ShardContents& contents) {
  return read_checked(bytes, name, [&contents](hid_t file) {
    const CellRecord record = record_in(file);
    check_key(record, contents.record.key);
    const ShardContents empty;
    bool same = same_record(record, contents.record);
    for (std::size_t i = 0; same && i < kCellTables.size(); ++i)
      same = same_results(read_cell_table(file, *empty.tables()[i]), *contents.tables()[i]);
    check_footer(file, row_counts(contents));
    return same;
  });
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

std::string shard_bytes(ShardContents contents) {
  contents.record.figures = contents.result.figures;
  contents.record.notes = contents.result.notes;
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    contents.record.rows[i] = {0, static_cast<std::int64_t>(contents.tables()[i]->rows())};
  }
  contents.record.digest = content_digest(contents.record, std::as_const(contents).tables());
  std::string bytes = body_of(contents);
  bytes += std::string(kTrailerStart) + sha256_of(bytes) + '\n';
  const std::string name = "the shard of " + contents.record.label;
  if (!holds(bytes, name, contents)) throw H5Error(name + " does not hold what was written to it");
  return bytes;
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
  return shard_contents(file_bytes(path), key, path);
}

ShardContents shard_contents(const std::string& bytes, const std::string& key,
                             const std::string& name) {
  return read_checked(bytes, name, [&key](hid_t file) {
    ShardContents contents;
    contents.record = record_in(file);
    check_key(contents.record, key);
    for (Table* table : contents.tables()) *table = read_whole_table(file, *table);
    check_footer(file, row_counts(contents));
    contents.result.figures = contents.record.figures;
    contents.result.notes = contents.record.notes;
    contents.record.histograms = histograms_of(contents.result.steps);
    return contents;
  });
}

ShardReader::ShardReader(const std::string& path, const std::string& key)
    : name_(path), bytes_(file_bytes(path)) {
  constexpr std::size_t kLarge = std::size_t{4} << 20;  // its tables take some ten times as much
  if (bytes_.size() <= kLarge) {
    contents_ = shard_contents(bytes_, key, name_);
    bytes_.clear();
    return;
  }
  check_shard_bytes(bytes_, name_);
  reading_shard(name_, [&] { check_tables(key); });
}

/// Reads every table once, and keeps none.
void ShardReader::check_tables(const std::string& key) {
  file_ = open_shard(bytes_, name_);
  check_key(record_in(file_->get()), key);
  RowCounts rows{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Table table = read_whole_table(file_->get(), *contents_.tables()[i]);
    rows[i] = table.rows();
    if (table.name == "steps") contents_.record.histograms = histograms_of(table);
  }
  check_footer(file_->get(), rows);
}

Table ShardReader::take(std::size_t position) {
  Table& described = *contents_.tables()[position];
  if (!file_) return std::move(described);
  return reading_shard(name_, [&] { return read_whole_table(file_->get(), described); });
}

CellRecord read_shard_record(const std::string& path, const std::string& key) {
  return shard_record(file_bytes(path), key, path);
}

CellRecord shard_record(const std::string& bytes, const std::string& key, const std::string& name) {
  return read_checked(bytes, name, [&key](hid_t file) {
    CellRecord record = record_in(file);
    check_key(record, key);
    return record;
  });
}

}  // namespace sweep
