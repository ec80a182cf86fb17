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
  std::ranges::sort(columns, {}, &Column::name);
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

/// Adds the parts that are not volatile and whose `value` is not nothing, sorted by name.
template <class Part, class Value>
void add_parts(Sha256& sha, const std::vector<Part>& parts, Value Part::*value) {
  std::vector<const Part*> lasting;
  for (const Part& part : parts)
    if (!part.is_volatile && !is_nothing(part.*value)) lasting.push_back(&part);
  std::ranges::sort(lasting, std::less(), &Part::name);
  for (const Part* part : lasting) {
    add_text(sha, part->name);
    if constexpr (std::is_same_v<Value, double>)
      add_raw(sha, part->*value);
    else
      add_text(sha, part->*value);
  }
}

}  // namespace

bool holds_nothing(const ColumnData& data) {
  return std::visit(
      [](const auto& values) {
        return std::ranges::all_of(values, [](const auto& value) { return is_nothing(value); });
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

std::string content_digest(const CellRecord& record, const CellTables& table_at) {
  Sha256 sha;
  add_text(sha, record.key);
  add_text(sha, to_text(record.status));
  add_text(sha, record.reason);
  add_parts(sha, record.figures, &Figure::value);
  add_parts(sha, record.notes, &Note::text);
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    const Table& table = table_at(i);
    if (i < kEarliestTables || table.rows() > 0) add_columns(sha, table, columns_that_count(table));
  }
  return sha.hex();
}

std::string content_digest(const ShardContents& cell) {
  return content_digest(cell.record, [&, tables = cell.tables()](std::size_t i) -> const Table& {
    return *tables[i];
  });
}

std::string table_digest(const Table& table) {
  std::vector<const Column*> columns;
  for (const Column& column : table.columns) columns.push_back(&column);
  Sha256 sha;
  add_columns(sha, table, std::move(columns));
  return sha.hex();
}

}  // namespace sweep
