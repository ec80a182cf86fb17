#include "sweeps/archive/spare.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "sweeps/archive/format.hpp"
#include "sweeps/archive/histograms.hpp"
#include "sweeps/archive/tables.hpp"
#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/twofold.hpp"
#include "sweeps/hdf5/codec.hpp"
#include "sweeps/hdf5/column.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/memory_file.hpp"
#include "sweeps/hdf5/packed_table.hpp"

namespace sweep {

namespace {

using Texts = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

Column plain(const char* name, ColumnData data) {
  return {name, "", "", false, {}, std::move(data)};
}

Table head_table(const ArchiveIndex& index) {
  return {"head",
          {plain("sweep_name", Texts{index.head.sweep_name}),
           plain("spec_text", Texts{index.head.spec_text}),
           plain("created_utc", Texts{index.head.created_utc}),
           plain("tool_version", Texts{index.head.tool_version}),
           plain("generation", Numbers{index.generation})}};
}

Table columns_table(const std::vector<StoredColumn>& columns) {
  Texts tables, names, units, meanings, enums, types;
  Numbers widths, rows, chunk_rows, volatiles, chunks;
  for (const StoredColumn& each : columns) {
    tables.push_back(each.table);
    names.push_back(each.column.name);
    units.push_back(each.column.unit);
    meanings.push_back(each.column.long_name);
    enums.push_back(lines_of(each.column.enum_names));
    types.emplace_back(type_name(each.column.data));
    widths.push_back(static_cast<std::int64_t>(each.width));
    rows.push_back(each.rows);
    chunk_rows.push_back(each.chunk_rows);
    volatiles.push_back(each.column.is_volatile ? 1 : 0);
    chunks.push_back(static_cast<std::int64_t>(each.chunks.size()));
  }
  return {"columns",
          {plain("table", tables), plain("name", names), plain("unit", units),
           plain("long_name", meanings), plain("enum_names", enums), plain("type", types),
           plain("width", widths), plain("rows", rows), plain("chunk_rows", chunk_rows),
           plain("volatile", volatiles), plain("chunks", chunks)}};
}

/// The chunks of all columns, one column's after the other's.
Table chunks_table(const std::vector<StoredColumn>& columns) {
  Numbers bytes, sums;
  for (const StoredColumn& column : columns) {
    for (const ChunkSum& chunk : column.chunks) {
      bytes.push_back(chunk.bytes);
      sums.push_back(chunk.sum);
    }
  }
  return {"chunks", {plain("bytes", bytes), plain("sum", sums)}};
}

ColumnData data_of_type(const std::string& type) {
  for (const ColumnData& data :
       {ColumnData(std::vector<std::int8_t>()), ColumnData(std::vector<std::int32_t>()),
        ColumnData(Numbers()), ColumnData(std::vector<double>())})
    if (type == type_name(data)) return data;
  return Texts();
}

std::vector<StoredColumn> columns_in(hid_t file) {
  const Table table = read_packed_table(file, "columns"), sums = read_packed_table(file, "chunks");
  const auto text = [&](const char* column, std::size_t row) {
    return table.values<std::string>(column)[row];
  };
  const auto number = [&](const char* column, std::size_t row) {
    return table.values<std::int64_t>(column)[row];
  };
  std::vector<StoredColumn> columns;
  std::size_t next = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    StoredColumn column{
        text("table", i),
        {text("name", i), text("unit", i), text("long_name", i), number("volatile", i) != 0,
         split(text("enum_names", i), "\n"), data_of_type(text("type", i))},
        static_cast<std::size_t>(number("width", i)),
        number("rows", i),
        table.has("chunk_rows") ? number("chunk_rows", i) : static_cast<std::int64_t>(kChunkRows),
        {}};
    for (std::int64_t chunk = 0; chunk < number("chunks", i); ++chunk, ++next)
      column.chunks.push_back(
          {static_cast<std::int32_t>(sums.values<std::int64_t>("bytes").at(next)),
           sums.values<std::int64_t>("sum").at(next)});
    columns.push_back(std::move(column));
  }
  return columns;
}

ArchiveIndex index_in(hid_t file) {
  const Table head = read_packed_table(file, "head");
  const auto text = [&head](const char* column) { return head.values<std::string>(column).at(0); };
  ArchiveIndex index;
  index.head = {text("sweep_name"), text("spec_text"), text("created_utc"), text("tool_version")};
  index.generation = head.values<std::int64_t>("generation").at(0);
  const CellsTable cells = read_packed_cells(file);
  index.cells = to_records(cells);
  take_histograms(read_packed_table(file, "hist"), index.cells);
  if (has_object(file, "provenance")) index.provenance = read_packed_table(file, "provenance");
  return index;
}

std::span<const unsigned char> bytes_of(std::string_view chunk) {
  return {reinterpret_cast<const unsigned char*>(chunk.data()), chunk.size()};
}

/// Finds chunks by what identifies them.
class ChunkFinder {
 public:
  explicit ChunkFinder(std::string_view archive) : archive_(archive) {}
  void want(const ChunkSum& chunk) {
    wanted_[static_cast<std::uint32_t>(chunk.sum)].emplace(chunk.bytes, std::string_view());
    likely_.set(static_cast<std::uint32_t>(chunk.sum) & 0xffff);
  }
  /// Looks at each place where a checksum may be.
  void look() {
    std::uint32_t sum = 0;
    for (std::size_t end = sizeof sum; end <= archive_.size(); ++end) {
      std::memcpy(&sum, archive_.data() + end - sizeof sum, sizeof sum);
      if (!likely_[sum & 0xffff]) continue;
      const auto found = wanted_.find(sum);
      if (found == wanted_.end()) continue;
      for (auto& [bytes, place] : found->second) {
        const auto size = static_cast<std::size_t>(bytes);
        if (!place.empty() || size > end) continue;
        const std::string_view chunk = archive_.substr(end - size, size);
        if (has_fletcher32(bytes_of(chunk))) place = chunk;
      }
    }
  }
  /// Empty if it was not found.
  std::string_view place(const ChunkSum& chunk) const {
    return wanted_.at(static_cast<std::uint32_t>(chunk.sum)).at(chunk.bytes);
  }

 private:
  std::string_view archive_;
  std::bitset<65536> likely_;
  std::unordered_map<std::uint32_t, std::map<std::int32_t, std::string_view>> wanted_;
};

}  // namespace

void append_spare(const std::string& path, const ArchiveIndex& index,
                  const std::vector<StoredColumn>& columns) {
  constexpr std::size_t kChunkCells = 4096;
  MemoryH5 file;
  write_packed_table(file.get(), head_table(index));
  write_packed_cells(file.get(), to_cells_table(index.cells), kChunkCells);
  write_packed_table(file.get(), histograms_table(index.cells));
  if (!index.provenance.columns.empty()) write_packed_table(file.get(), index.provenance);
  write_packed_table(file.get(), columns_table(columns));
  write_packed_table(file.get(), chunks_table(columns));
  Descriptor archive(path, O_WRONLY | O_APPEND);
  archive.write(twofold(file.close()));
  archive.close();
}

void check_spare(hid_t file) {
  if (read_integer_attribute(file, "schema_major") < 2) return;
  void* descriptor = nullptr;
  h5_check(H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor), "get the descriptor of a file");
  const auto read_end = [fd = *static_cast<int*>(descriptor)](std::size_t most) {
    const off_t size = ::lseek(fd, 0, SEEK_END);
    std::string bytes(std::min(most, static_cast<std::size_t>(size)), '\0');
    for (std::size_t read = 0; read < bytes.size();) {
      const ssize_t more = ::pread(fd, bytes.data() + read, bytes.size() - read,
                                   size - static_cast<off_t>(bytes.size() - read));
      if (more < 0 && errno != EINTR) throw_read_error("read", "the end of an archive", errno);
      if (more == 0) throw H5Error("it ends where it did not");
      if (more > 0) read += static_cast<std::size_t>(more);
    }
    return bytes;
  };
  const std::size_t size = twofold_bytes(read_end(kPieceBytes));
  const std::string both = read_end(size);
  const std::optional<std::string> bytes = untwofold(both);
  if (size == 0)
    throw H5Error("it has no spare copy at its end, as if another program had changed it");
  if (!bytes || twofold(*bytes) != both) throw H5Error("the spare copy at its end is not whole");
}

SpareTables::SpareTables(std::string archive) : archive_(std::move(archive)) {
  const std::optional<std::string> bytes = untwofold(archive_);
  if (!bytes) throw H5Error("there is no spare copy");
  const H5File file = open_h5_bytes(*bytes, "the spare copy");
  index_ = index_in(file.get());
  for (StoredColumn& stored : columns_in(file.get())) {
    const auto table = std::ranges::find(kCellTables, stored.table) - kCellTables.begin();
    columns_.push_back({std::move(stored), static_cast<std::size_t>(table), {}, {}, {}});
  }
  ChunkFinder finder(archive_);
  for (const Found& column : columns_)
    for (const ChunkSum& chunk : column.stored.chunks)
      if (chunk.bytes > 0) finder.want(chunk);
  finder.look();
  for (Found& column : columns_)
    for (const ChunkSum& chunk : column.stored.chunks)
      column.chunks.push_back(chunk.bytes > 0 ? finder.place(chunk) : std::string_view());
}

ShardContents SpareTables::load(const CellRecord& cell) {
  ShardContents contents;
  contents.record = cell;
  contents.result.figures = cell.figures;
  contents.result.notes = cell.notes;
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    Table rows{std::string(kCellTables[i]), {}};
    for (Found& column : columns_)
      if (column.table == i && column.stored.column.name != "cell")
        rows.columns.push_back(values(column, cell.rows[i]));
    add_missing_columns(rows, described_table(rows.name));
    *contents.tables()[i] = std::move(rows);
  }
  return contents;
}

std::string SpareTables::damage_of(const CellRecord& cell) const {
  std::string names;
  for (const Found& column : columns_) {
    const RowRange own = cell.rows[column.table];
    bool lost = false;
    const auto each = static_cast<std::size_t>(column.stored.chunk_rows);
    for (auto at = static_cast<std::size_t>(own.offset) / each;
         own.rows > 0 && at < column.chunks.size() &&
         at * each < static_cast<std::size_t>(own.offset + own.rows);
         ++at)
      lost = lost || (column.stored.chunks[at].bytes > 0 && column.chunks[at].empty());
    if (lost)
      names += (names.empty() ? "" : ", ") + column.stored.table + '/' + column.stored.column.name;
  }
  return names;
}

Column SpareTables::values(Found& column, RowRange range) {
  const StoredColumn& stored = column.stored;
  if (range.offset < 0 || range.rows < 0 || range.offset > stored.rows - range.rows)
    throw H5Error("the column " + stored.column.name + " is shorter than its cells say");
  Column result = stored.column;
  const auto end = static_cast<std::size_t>(range.offset + range.rows),
             chunk_rows = static_cast<std::size_t>(stored.chunk_rows);
  for (auto row = static_cast<std::size_t>(range.offset); row < end;) {
    const std::size_t at = row / chunk_rows, in_chunk = row % chunk_rows,
                      count = std::min(end - row, chunk_rows - in_chunk);
    if (stored.chunks.at(at).bytes == 0) {
      fill_up(result.data, result.size() + count);
    } else {
      const char* shuffled = unpacked(column, at) + in_chunk;
      append_values(result.data, values_from(result.data, stored.width, count, [&](char* out) {
                      unshuffle_bytes(shuffled, chunk_rows, count, stored.width, out);
                    }));
    }
    row += count;
  }
  return result;
}

/// The shuffled bytes of a chunk; keeps those of the last.
const char* SpareTables::unpacked(Found& column, std::size_t chunk) {
  if (column.last != chunk) {
    column.last.reset();
    auto shuffled =
        unpack_shuffled(bytes_of(column.chunks[chunk]),
                        static_cast<std::size_t>(column.stored.chunk_rows) * column.stored.width);
    if (!shuffled) throw H5Error("a chunk of " + column.stored.column.name + " is lost");
    column.shuffled = std::move(*shuffled);
    column.last = chunk;
  }
  return column.shuffled.data();
}

}  // namespace sweep
