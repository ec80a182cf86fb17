#include "sweeps/archive/contents.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sweep {

namespace {

template <class T>
void add_raw(Sha256& sha, const T& value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  sha.update({bytes, sizeof(T)});
}

/// Adds a text after its length, so that "ab","c" and "a","bc" differ.
void add_text(Sha256& sha, std::string_view text) {
  add_raw(sha, static_cast<std::uint64_t>(text.size()));
  sha.update(text);
}

template <class T>
bool is_nothing(const T& value) {
  return value == T{};
}
bool is_nothing(double value) { return std::isnan(value); }

template <class T>
void add_values(Sha256& sha, const std::vector<T>& values) {
  sha.update({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

void add_values(Sha256& sha, std::vector<double> values) {
  // NaNs have many bit patterns.
  for (double& value : values) value = std::isnan(value) ? kNotObserved : value;
  sha.update({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
}

void add_values(Sha256& sha, const std::vector<std::string>& values) {
  for (const std::string& value : values) add_text(sha, value);
}

void add_columns(Sha256& sha, const Table& table, std::vector<const Column*> columns) {
  std::sort(columns.begin(), columns.end(),
            [](const Column* a, const Column* b) { return a->name < b->name; });
  add_text(sha, table.name);
  add_raw(sha, static_cast<std::uint64_t>(table.rows()));
  for (const Column* column : columns) {
    add_text(sha, column->name);
    add_text(sha, type_name(column->data));
    std::visit([&sha](const auto& values) { add_values(sha, values); }, column->data);
  }
}

std::vector<const Column*> columns_that_count(const Table& table) {
  std::vector<const Column*> columns;
  for (const Column& column : table.columns) {
    const bool lasts = !column.is_volatile && column.name != "cell";
    if (lasts && !holds_nothing(column.data)) columns.push_back(&column);
  }
  return columns;
}

/// The parts that are not volatile and not empty, sorted by name.
template <class Part, class Says>
std::vector<Part> lasting(const std::vector<Part>& parts, Says says) {
  std::vector<Part> kept;
  for (const Part& part : parts) {
    if (!part.is_volatile && says(part)) kept.push_back(part);
  }
  std::sort(kept.begin(), kept.end(), [](const Part& a, const Part& b) { return a.name < b.name; });
  return kept;
}

}  // namespace

bool holds_nothing(const ColumnData& data) {
  return std::visit(
      [](const auto& values) {
        return std::all_of(values.begin(), values.end(),
                           [](const auto& value) { return is_nothing(value); });
      },
      data);
}

const Table& described_table(std::string_view name) {
  static const ShardContents kNothing;
  const auto tables = kNothing.tables();
  return **std::ranges::find(tables, name, [](const Table* table) { return table->name; });
}

/// In the order of kCellTables.
template <class Result>
static auto tables_of(Result& of) {
  return std::array{&of.jobs,        &of.turns,          &of.steps,     &of.sched,
                    &of.kv_events,   &of.telemetry,      &of.evictions, &of.kv_access,
                    &of.access_rows, &of.access_kernels, &of.kv_copies};
}

std::array<const Table*, kCellTables.size()> ShardContents::tables() const {
  return tables_of(result);
}

std::array<Table*, kCellTables.size()> ShardContents::tables() { return tables_of(result); }

void keep_level(ShardContents& cell, RecordLevel level) {
  if (cell.record.level <= level) return;
  for (Table* table : cell.tables()) {
    if (level_of_table(table->name) <= level) continue;
    for (Column& column : table->columns) column = without_rows(column);
  }
  cell.record.level = level;
}

ContentDigest::ContentDigest(const CellRecord& record) {
  Sha256& sha = sha_;
  add_text(sha, record.key);
  add_text(sha, to_text(record.status));
  add_text(sha, record.reason);
  for (const Figure& figure :
       lasting(record.figures, [](const Figure& each) { return !std::isnan(each.value); })) {
    add_text(sha, figure.name);
    add_raw(sha, figure.value);
  }
  for (const Note& note :
       lasting(record.notes, [](const Note& each) { return !each.text.empty(); })) {
    add_text(sha, note.name);
    add_text(sha, note.text);
  }
}

void ContentDigest::add(std::size_t position, const Table& table) {
  if (position >= kEarliestTables && table.rows() == 0) return;
  add_columns(sha_, table, columns_that_count(table));
}

std::string content_digest(const CellRecord& record,
                           const std::array<const Table*, kCellTables.size()>& tables) {
  ContentDigest digest(record);
  for (std::size_t i = 0; i < tables.size(); ++i) digest.add(i, *tables[i]);
  return digest.hex();
}

std::string table_digest(const Table& table) {
  std::vector<const Column*> columns;
  for (const Column& column : table.columns) columns.push_back(&column);
  Sha256 sha;
  add_columns(sha, table, std::move(columns));
  return sha.hex();
}

}  // namespace sweep
