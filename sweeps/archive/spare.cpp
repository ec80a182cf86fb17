#include "sweeps/archive/spare.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/twofold.hpp"
#include "sweeps/hdf5/packed_tables.hpp"

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
           plain("tool_version", Texts{index.head.tool_version})}};
}

/// Sizes of all tables, widths of all columns, and what identifies all chunks, one table's after
/// the other's.
std::vector<Table> layout_tables(const std::vector<SpareTable>& tables) {
  Numbers rows, chunk_rows, widths, bytes, sums;
  for (const SpareTable& table : tables) {
    rows.push_back(table.rows);
    chunk_rows.push_back(table.chunk_rows);
    widths.insert(widths.end(), table.widths.begin(), table.widths.end());
    for (const std::vector<ChunkSum>& chunks : table.chunks) {
      for (const ChunkSum& chunk : chunks) {
        bytes.push_back(chunk.bytes);
        sums.push_back(chunk.sum);
      }
    }
  }
  return {{"sizes", {plain("rows", rows), plain("chunk_rows", chunk_rows)}},
          {"widths", {plain("bytes", widths)}},
          {"chunks", {plain("bytes", bytes), plain("sum", sums)}}};
}

/// The inverse. Throws TableError or std::out_of_range.
std::vector<SpareTable> spare_tables(const PackedTables& spare) {
  const Table sizes = spare.read("sizes"), widths = spare.read("widths"),
              chunks = spare.read("chunks");
  std::vector<SpareTable> tables;
  std::size_t column = 0, chunk = 0;
  for (const std::string_view name : kCellTables) {
    if (!spare.find(std::string(name))) continue;
    const auto size = [&](const char* of) {
      return sizes.values<std::int64_t>(of).at(tables.size());
    };
    SpareTable table{spare.read(std::string(name)), size("rows"), size("chunk_rows"), {}, {}};
    for (std::size_t i = 0; i < table.described.columns.size(); ++i) {
      table.widths.push_back(widths.values<std::int64_t>("bytes").at(column++));
      table.chunks.emplace_back();
      for (std::int64_t row = 0; row < table.rows; row += table.chunk_rows, ++chunk)
        table.chunks.back().push_back({chunks.values<std::int64_t>("bytes").at(chunk),
                                       chunks.values<std::int64_t>("sum").at(chunk)});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

ArchiveIndex index_in(const PackedTables& spare) {
  const Table head = spare.read("head");
  const auto text = [&head](const char* column) { return head.values<std::string>(column).at(0); };
  ArchiveIndex index;
  index.head = {text("sweep_name"), text("spec_text"), text("created_utc"), text("tool_version")};
  index.cells = to_records(spare.read("cells"));
  if (spare.find("provenance")) index.provenance = spare.read("provenance");
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
  std::unordered_map<std::uint32_t, std::map<std::int64_t, std::string_view>> wanted_;
};

using ArchiveBytes = std::shared_ptr<const std::string>;

/// A table with its chunks where they were found.
StoredTable found_table(const SpareTable& table, const ChunkFinder& finder,
                        const ArchiveBytes& archive) {
  std::vector<StoredColumn> columns;
  for (std::size_t i = 0; i < table.chunks.size(); ++i) {
    std::vector<std::pair<bool, std::string_view>> places;  // whether there is one, and where
    for (const ChunkSum& chunk : table.chunks[i])
      places.emplace_back(chunk.bytes > 0, chunk.bytes > 0 ? finder.place(chunk) : "");
    columns.push_back({table.described.columns[i], static_cast<std::size_t>(table.widths[i]),
                       static_cast<std::size_t>(table.rows),
                       static_cast<std::size_t>(table.chunk_rows),
                       [archive, places = std::move(places)](std::size_t chunk) -> StoredChunk {
                         const auto [is_there, place] = places.at(chunk);
                         if (is_there && place.empty()) throw H5Error("a chunk is lost");
                         return {place.begin(), place.end()};
                       }});
  }
  return StoredTable(table.described.name, std::move(columns));
}

}  // namespace

void append_spare(const std::string& path, const ArchiveIndex& index,
                  const std::vector<SpareTable>& tables) {
  const Table head = head_table(index), cells = to_cells_table(index.cells);
  const std::vector<Table> layout = layout_tables(tables);
  std::vector<const Table*> all = {&head, &cells, &index.provenance};
  for (const SpareTable& table : tables) all.push_back(&table.described);
  for (const Table& table : layout) all.push_back(&table);
  Descriptor archive(path, O_WRONLY | O_APPEND);
  archive.write(twofold(pack_tables(all)));
  archive.close();
}

std::string spare_problem(hid_t file) {
  if (read_integer_attribute(file, "schema_major") < 2) return "";
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
  if (size == 0) return "it has no spare copy at its end, as if another program had changed it";
  if (!bytes || twofold(*bytes) != both) return "the spare copy at its end is not whole";
  return "";
}

StoredCells read_spare(const std::string& path) {
  const auto archive = std::make_shared<const std::string>(file_bytes(path));
  std::optional<std::string> bytes = untwofold(*archive);
  if (!bytes) throw H5Error("there is no spare copy");
  const PackedTables spare(std::move(*bytes));
  const std::vector<SpareTable> tables = spare_tables(spare);
  ChunkFinder finder(*archive);
  for (const SpareTable& table : tables)
    for (const std::vector<ChunkSum>& chunks : table.chunks)
      for (const ChunkSum& chunk : chunks)
        if (chunk.bytes > 0) finder.want(chunk);
  finder.look();
  return StoredCells(
      path, index_in(spare), [&](const std::string& name) -> std::optional<StoredTable> {
        const auto named = [](const SpareTable& each) { return each.described.name; };
        const auto found = std::ranges::find(tables, name, named);
        if (found == tables.end()) return std::nullopt;
        return found_table(*found, finder, archive);
      });
}

}  // namespace sweep
