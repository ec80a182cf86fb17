#include "sweeps/hdf5/stored_table.hpp"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "sweeps/hdf5/h5.hpp"
#include "sweeps/process/parallel.hpp"

namespace sweep {
namespace {

constexpr std::size_t kWorthThreads = std::size_t{1} << 16;  // bytes to unpack

/// The values as they are stored, one after the other: those of the column, or, of texts, in
/// `packed`.
std::span<const char> stored_values(const Column& column, RowRange range, std::size_t width,
                                    std::vector<char>& packed) {
  return std::visit(
      [&]<class T>(const std::vector<T>& all) -> std::span<const char> {
        const std::span values = std::span(all).subspan(range.offset, range.rows);
        if constexpr (std::is_same_v<T, std::string>) {
          packed.assign(range.rows * width, '\0');
          for (std::size_t i = 0; i < range.rows; ++i)
            values[i].copy(packed.data() + i * width, width);
          return packed;
        } else {
          return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
        }
      },
      column.data);
}

/// Appends `count` stored values of `width` bytes, which `fill(place)` writes one after the other.
template <class Fill>
void append_stored(ColumnData& to, std::size_t count, std::size_t width, const Fill& fill) {
  std::visit(
      [&]<class T>(std::vector<T>& values) {
        const std::size_t before = values.size();
        values.resize(before + count);
        if constexpr (std::is_same_v<T, std::string>) {
          std::vector<char> packed(count * width);
          fill(packed.data());
          const char* text = packed.data();
          for (std::size_t i = before; i < values.size(); ++i, text += width)
            values[i].assign(text, std::find(text, text + width, '\0'));
        } else {
          fill(reinterpret_cast<char*>(values.data() + before));
        }
      },
      to);
}

}  // namespace

std::size_t width_of(const Column& column) {
  return std::visit(
      []<class T>(const std::vector<T>& values) {
        if constexpr (!std::is_same_v<T, std::string>) return sizeof(T);
        std::size_t longest = 1;
        if constexpr (std::is_same_v<T, std::string>)
          for (const std::string& text : values) longest = std::max(longest, text.size());
        return longest;
      },
      column.data);
}

std::size_t chunk_rows_of(std::size_t width, std::size_t rows) {
  constexpr std::size_t kBytes = std::size_t{1} << 20, kLeast = 64;
  return std::clamp<std::size_t>(rows, 1, std::clamp(kBytes / width, kLeast, kChunkRows));
}

std::vector<std::string> pack_chunks(const Column& column, std::size_t rows, std::size_t width,
                                     std::size_t chunk_rows) {
  std::vector<std::string> chunks;
  std::vector<char> packed;
  for (std::size_t row = 0; row < rows; row += chunk_rows) {
    const RowRange range{row, std::min(chunk_rows, rows - row)};
    std::string shuffled(chunk_rows * width, '\0');
    shuffle_bytes(stored_values(column, range, width, packed).data(), range.rows, width,
                  shuffled.data(), chunk_rows);
    chunks.push_back(pack_shuffled(shuffled));
  }
  return chunks;
}

StoredTable::StoredTable(std::string name, std::vector<StoredColumn> columns, int threads)
    : name_(std::move(name)), threads_(threads) {
  for (StoredColumn& column : columns) {
    if (column.rows != columns.front().rows)
      throw H5Error("the columns of the table " + name_ + " differ in length");
    columns_.push_back({std::move(column)});
  }
}

Table StoredTable::read(RowRange range, std::string_view but) {
  std::vector<Source*> wanted;
  std::vector<std::vector<std::string>> chunks;
  std::size_t bytes = 0;
  for (Source& source : columns_) {
    if (source.stored.column.name == but) continue;
    wanted.push_back(&source);
    for (const std::string& chunk : chunks.emplace_back(fetch(source, range)))
      bytes += chunk.size();
  }
  Table table{name_, std::vector<Column>(wanted.size())};
  in_parallel(wanted.size(), bytes < kWorthThreads ? 1 : threads_,
              [&](std::size_t i) { table.columns[i] = values(*wanted[i], chunks[i], range); });
  return table;
}

Column StoredTable::read_column(std::string_view name, RowRange range) {
  const auto is_it = [&](const Source& each) { return each.stored.column.name == name; };
  const auto found = std::ranges::find_if(columns_, is_it);
  if (found == columns_.end())
    throw H5Error("the table " + name_ + " has no column " + std::string(name));
  return values(*found, fetch(*found, range), range);
}

void StoredTable::check() const {
  for (const auto& [stored, chunk, shuffled] : columns_) {
    for (std::size_t row = 0; row < stored.rows; row += stored.chunk_rows) {
      const std::string found = stored.fetch(row / stored.chunk_rows);
      if (!found.empty() && !has_fletcher32(found))
        throw H5Error("the column " + name_ + "/" + stored.column.name +
                      " is not whole: the checksum of a chunk is wrong");
    }
  }
}

std::vector<std::string> StoredTable::damaged(RowRange range) {
  std::vector<std::string> names;
  for (const Source& each : columns_) {
    const std::string& name = each.stored.column.name;
    try {
      static_cast<void>(read_column(name, range));
    } catch (const H5Error&) {
      names.push_back(name_ + "/" + name);
    }
  }
  return names;
}

/// The chunks with these rows; the first is empty if it is unpacked already. HDF5 is called by this
/// thread alone.
std::vector<std::string> StoredTable::fetch(const Source& source, RowRange range) const {
  const StoredColumn& stored = source.stored;
  if (range.offset > stored.rows || range.rows > stored.rows - range.offset)
    throw H5Error("the column " + name_ + "/" + stored.column.name +
                  " is shorter than its cells say");
  std::vector<std::string> chunks;
  if (range.rows == 0) return chunks;
  const std::size_t first = range.offset / stored.chunk_rows,
                    last = (range.offset + range.rows - 1) / stored.chunk_rows;
  for (std::size_t chunk = first; chunk <= last; ++chunk)
    chunks.push_back(chunk == first && chunk == source.chunk ? std::string() : stored.fetch(chunk));
  return chunks;
}

Column StoredTable::values(Source& source, const std::vector<std::string>& chunks,
                           RowRange range) const {
  const StoredColumn& stored = source.stored;
  Column result = stored.column;
  std::visit([&](auto& values) { values.reserve(range.rows); }, result.data);
  const std::size_t end = range.offset + range.rows, before = range.offset / stored.chunk_rows;
  for (std::size_t row = range.offset; row < end;) {
    const std::size_t chunk = row / stored.chunk_rows, in_chunk = row % stored.chunk_rows,
                      count = std::min(end - row, stored.chunk_rows - in_chunk);
    if (source.chunk != chunk) {
      source.chunk.reset();
      std::optional<std::string> shuffled(std::in_place);
      if (const std::string& found = chunks[chunk - before]; !found.empty())
        shuffled = unpack_shuffled(found, stored.chunk_rows * stored.width);
      if (!shuffled)
        throw H5Error("cannot read the column " + name_ + "/" + stored.column.name +
                      ": the checksum of a chunk is wrong");
      source.shuffled = std::move(*shuffled);
      source.chunk = chunk;
    }
    if (source.shuffled.empty())
      fill_up(result.data, result.size() + count);
    else
      append_stored(result.data, count, stored.width, [&](char* out) {
        unshuffle_bytes(source.shuffled.data() + in_chunk, stored.chunk_rows, count, stored.width,
                        out);
      });
    row += count;
  }
  return result;
}

}  // namespace sweep
