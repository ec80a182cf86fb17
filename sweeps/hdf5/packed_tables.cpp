#include "sweeps/hdf5/packed_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "sweeps/hdf5/codec.hpp"

namespace sweep {
namespace {

// Bytes to those that they deflate to; zlib's limit is 1032.
constexpr std::uint64_t kMostRatio = 1100;

void add_number(std::string& to, std::uint64_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void add_text(std::string& to, std::string_view text) {
  add_number(to, text.size());
  to += text;
}

/// Reads what they added.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw H5Error("its tables are cut short");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// Adds a column to the description, and its chunks to the others.
void add_column(const Column& column, std::string& description, std::string& chunks) {
  const std::size_t width = width_of(column), rows = column.size(),
                    chunk_rows = chunk_rows_of(width, rows);
  for (const std::string* text : {&column.name, &column.unit, &column.long_name})
    add_text(description, *text);
  add_number(description, column.is_volatile ? 1 : 0);
  add_number(description, column.enum_names.size());
  for (const std::string& name : column.enum_names) add_text(description, name);
  add_text(description, type_name(column.data));
  for (const std::size_t number : {width, rows, chunk_rows}) add_number(description, number);
  for (const std::string& chunk : pack_chunks(column, rows, width, chunk_rows)) {
    add_number(description, chunk.size());
    chunks += chunk;
  }
}

/// No values, of the type that type_name() calls so.
ColumnData data_of_type(const std::string& type) {
  for (const ColumnData& data :
       {ColumnData(std::vector<std::int8_t>()), ColumnData(std::vector<std::int32_t>()),
        ColumnData(std::vector<std::int64_t>()), ColumnData(std::vector<double>()),
        ColumnData(std::vector<std::string>())})
    if (type == type_name(data)) return data;
  throw H5Error("a column has values of type " + type);
}

/// A column, of which the chunks are the next ones in `bytes`.
StoredColumn described_column(Fields& description, Fields& chunks,
                              const std::shared_ptr<const std::string>& bytes) {
  StoredColumn stored;
  Column& column = stored.column;
  for (std::string* text : {&column.name, &column.unit, &column.long_name})
    *text = description.text();
  column.is_volatile = description.number() != 0;
  for (std::uint64_t names = description.number(); names > 0; --names)
    column.enum_names.push_back(description.text());
  column.data = data_of_type(description.text());
  for (std::size_t* number : {&stored.width, &stored.rows, &stored.chunk_rows})
    *number = description.number();
  const bool is_text = std::holds_alternative<std::vector<std::string>>(column.data);
  if (stored.chunk_rows == 0 || stored.width == 0 ||
      stored.chunk_rows > chunk_rows_of(stored.width) ||
      (!is_text && stored.width != width_of(column)))
    throw H5Error("the column " + column.name + " has values or chunks of a wrong size");
  std::vector<std::string_view> places;
  for (std::size_t row = 0; row < stored.rows; row += stored.chunk_rows) {
    places.push_back(chunks.take(description.number()));
    if (stored.width > kMostRatio * places.back().size() / stored.chunk_rows)
      throw H5Error("a chunk of the column " + column.name + " is too small for its rows");
  }
  stored.fetch = [bytes, places = std::move(places)](std::size_t chunk) {
    return std::string(places[chunk]);
  };
  return stored;
}

/// The bytes behind the mark and its version.
std::string_view behind_mark(std::string_view bytes) {
  constexpr std::size_t kMost = 20;
  constexpr std::string_view kEarlierMarks[] = {"\x89HDF", "kvsweep tables\n"};
  for (const std::string_view mark : kEarlierMarks)
    if (bytes.starts_with(mark))
      throw OtherVersion("was written by an earlier kvsweep: end its run with that program");
  if (!bytes.starts_with(kTablesMark)) throw H5Error("it holds no tables");
  const std::string_view rest = bytes.substr(kTablesMark.size());
  if (rest.starts_with(kTablesVersion)) return rest.substr(kTablesVersion.size());
  throw OtherVersion("has tables of version " +
                     std::string(rest.substr(0, std::min(kMost, rest.find('\n')))) +
                     ", and this program reads version 1; a newer kvsweep wrote it");
}

}  // namespace

std::string pack_tables(std::span<const Table* const> tables) {
  std::string description, chunks;
  for (const Table* table : tables) {
    static_cast<void>(table->rows());  // throws unless the columns have equal length
    add_text(description, table->name);
    add_number(description, table->columns.size());
    for (const Column& column : table->columns) add_column(column, description, chunks);
  }
  const std::string packed = deflated(description);
  std::string bytes = std::string(kTablesMark) += kTablesVersion;
  add_number(bytes, packed.size());
  add_number(bytes, description.size());
  return (bytes += packed) += chunks;
}

PackedTables::PackedTables(std::string packed_tables, int threads) {
  const auto bytes = std::make_shared<const std::string>(std::move(packed_tables));
  Fields chunks(behind_mark(*bytes));
  const std::uint64_t packed = chunks.number(), size = chunks.number();
  const std::string_view small = chunks.take(packed);
  std::string description(std::min<std::uint64_t>(size, kMostRatio * packed), '\0');
  if (!inflate_to(description, small))
    throw H5Error("the description of its tables does not inflate");
  Fields fields(description);
  while (!fields.at_end()) {
    const std::string table = fields.text();
    std::vector<StoredColumn> columns;
    for (std::uint64_t left = fields.number(); left > 0; --left)
      columns.push_back(described_column(fields, chunks, bytes));
    tables_.emplace(table, StoredTable(table, std::move(columns), threads));
  }
}

std::optional<StoredTable> PackedTables::find(const std::string& table) const {
  const auto found = tables_.find(table);
  return found != tables_.end() ? std::optional(found->second) : std::nullopt;
}

Table PackedTables::read(const std::string& table) const {
  std::optional<StoredTable> found = find(table);
  if (!found) throw H5Error("it has no table " + table);
  return found->read();
}

}  // namespace sweep
