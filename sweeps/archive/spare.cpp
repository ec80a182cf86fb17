#include "sweeps/archive/spare.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <unordered_map>

#include "sweeps/files/durable_file.hpp"
#include "sweeps/files/twofold.hpp"
#include "sweeps/hdf5/packed_tables.hpp"

namespace sweep {

namespace {

Column text_column(const char* name, const std::string& text) {
  return {name, "", "", false, {}, std::vector<std::string>{text}};
}

Column number_column(const char* name, const auto& numbers) {
  return {name, "", "", false, {}, std::vector<std::int64_t>(numbers.begin(), numbers.end())};
}

Table head_table(const ArchiveHead& head) {
  return {"head",
          {text_column("sweep_name", head.sweep_name), text_column("spec_text", head.spec_text),
           text_column("created_utc", head.created_utc),
           text_column("tool_version", head.tool_version)}};
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

/// Finds chunks by what identifies them.
class ChunkFinder {
 public:
  /// Looks at each place of the archive where a checksum may be.
  ChunkFinder(std::string archive, std::span<const SpareChunk> wanted)
      : archive_(std::move(archive)) {
    std::bitset<65536> likely;
    for (const auto& [bytes, sum] : wanted) {
      if (bytes == 0) continue;
      places_[sum].emplace(bytes, std::string_view());
      likely.set(sum & 0xffff);
    }
    std::uint32_t sum = 0;
    for (std::size_t end = sizeof sum; end <= archive_.size(); ++end) {
      std::memcpy(&sum, archive_.data() + end - sizeof sum, sizeof sum);
      const auto found = likely[sum & 0xffff] ? places_.find(sum) : places_.end();
      if (found == places_.end()) continue;
      for (auto& [bytes, place] : found->second) {
        if (!place.empty() || bytes > end) continue;
        const auto chunk = std::string_view(archive_).substr(end - bytes, bytes);
        if (has_fletcher32(chunk)) place = chunk;
      }
    }
  }
  /// Empty if the chunk was never written. Throws H5Error if it was not found.
  std::string chunk(SpareChunk wanted) const {
    if (wanted.bytes == 0) return "";
    const std::string_view place = places_.at(wanted.sum).at(wanted.bytes);
    if (place.empty()) throw H5Error("a chunk is lost");
    return std::string(place);
  }

 private:
  const std::string archive_;
  std::unordered_map<std::uint32_t, std::map<std::size_t, std::string_view>> places_;
};

std::size_t number(const Table& table, const char* column, std::size_t row) {
  return static_cast<std::size_t>(table.values<std::int64_t>(column).at(row));
}

/// The last bytes of a file, at most so many.
std::string end_of(const Descriptor& file, std::size_t most) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  const std::size_t bytes = std::min(most, static_cast<std::size_t>(size));
  ::lseek(file.get(), size - static_cast<off_t>(bytes), SEEK_SET);
  return file.read(bytes);
}

}  // namespace

void append_spare(const std::string& path, const ArchiveIndex& index, const SpareLayout& layout) {
  const Table parts[] = {
      head_table(index.head),
      to_cells_table(index.cells),
      {"sizes",
       {number_column("rows", layout.rows), number_column("chunk_rows", layout.chunk_rows)}},
      {"widths", {number_column("bytes", layout.widths)}},
      {"chunks",
       {number_column("bytes", layout.chunks | std::views::transform(&SpareChunk::bytes)),
        number_column("sum", layout.chunks | std::views::transform(&SpareChunk::sum))}}};
  std::vector<const Table*> all = {&parts[0], &parts[1], &index.provenance};
  for (const Table& table : layout.tables) all.push_back(&table);
  all.insert(all.end(), {&parts[2], &parts[3], &parts[4]});
  Descriptor archive(path, O_WRONLY | O_APPEND);
  archive.write(twofold(pack_tables(all)));
  archive.close();
}

std::string spare_problem(const std::string& path) {
  const Descriptor file(path, O_RDONLY);  // another file may take its name meanwhile
  const std::size_t size = twofold_bytes(end_of(file, kPieceBytes));
  if (size == 0) return "it has no spare copy at its end, as if another program had changed it";
  const std::string both = end_of(file, size);
  const std::optional<std::string> bytes = untwofold(both);
  if (!bytes || twofold(*bytes) != both) return "the spare copy at its end is not whole";
  return "";
}

StoredCells read_spare(const std::string& path) {
  std::string archive = file_bytes(path);
  std::optional<std::string> bytes = untwofold(archive);
  if (!bytes) throw H5Error("there is no spare copy");
  const PackedTables spare(std::move(*bytes));
  const Table sizes = spare.read("sizes"), widths = spare.read("widths"),
              listed = spare.read("chunks");
  std::vector<SpareChunk> chunks;
  for (std::size_t i = 0; i < listed.rows(); ++i)
    chunks.push_back(
        {number(listed, "bytes", i), static_cast<std::uint32_t>(number(listed, "sum", i))});
  const auto finder = std::make_shared<const ChunkFinder>(std::move(archive), chunks);
  std::size_t table = 0, column = 0, chunk = 0;  // the next ones
  const auto find = [&](const std::string& name) -> std::optional<StoredTable> {
    std::optional<StoredTable> described = spare.find(name);
    if (!described) return std::nullopt;
    const std::size_t rows = number(sizes, "rows", table),
                      chunk_rows = number(sizes, "chunk_rows", table++);
    std::vector<StoredColumn> columns;
    for (Column& each : described->read().columns) {
      std::vector<SpareChunk> its_chunks;
      for (std::size_t row = 0; row < rows; row += chunk_rows)
        its_chunks.push_back(chunks.at(chunk++));
      columns.push_back(
          {std::move(each), number(widths, "bytes", column++), rows, chunk_rows,
           [finder, its_chunks](std::size_t at) { return finder->chunk(its_chunks.at(at)); }});
    }
    return StoredTable(name, std::move(columns));
  };
  return StoredCells(path, index_in(spare), find);
}

}  // namespace sweep
