#include "sweeps/archive/spare.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
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
  explicit ChunkFinder(std::string_view archive) : archive_(archive) {}
  void want(std::int64_t bytes, std::int64_t sum) {
    wanted_[static_cast<std::uint32_t>(sum)].emplace(bytes, std::string_view());
    likely_.set(static_cast<std::uint32_t>(sum) & 0xffff);
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
        if (has_fletcher32(chunk)) place = chunk;
      }
    }
  }
  /// Empty if it was not found.
  std::string_view place(std::int64_t bytes, std::int64_t sum) const {
    return wanted_.at(static_cast<std::uint32_t>(sum)).at(bytes);
  }

 private:
  std::string_view archive_;
  std::bitset<65536> likely_;
  std::unordered_map<std::uint32_t, std::map<std::int64_t, std::string_view>> wanted_;
};

/// The tables of the cells, with their chunks where they lie in the archive. Throws TableError or
/// std::out_of_range.
std::map<std::string, StoredTable> found_tables(const PackedTables& spare,
                                                const std::shared_ptr<const std::string>& archive) {
  const Table sizes = spare.read("sizes"), widths = spare.read("widths"),
              chunks = spare.read("chunks");
  const auto &bytes = chunks.values<std::int64_t>("bytes"),
             &sums = chunks.values<std::int64_t>("sum");
  ChunkFinder finder(*archive);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] > 0) finder.want(bytes[i], sums[i]);
  finder.look();
  const auto number = [](const Table& table, const char* of, std::size_t at) {
    return static_cast<std::size_t>(table.values<std::int64_t>(of).at(at));
  };
  std::map<std::string, StoredTable> tables;
  std::size_t table = 0, column = 0, chunk = 0;
  for (const std::string_view each : kCellTables) {
    const std::string name(each);
    std::optional<StoredTable> described = spare.find(name);
    if (!described) continue;
    const std::size_t rows = number(sizes, "rows", table),
                      chunk_rows = number(sizes, "chunk_rows", table++);
    std::vector<StoredColumn> columns;
    for (Column& described_column : described->read().columns) {
      std::vector<std::optional<std::string_view>> places;  // of chunks that were written
      for (std::size_t row = 0; row < rows; row += chunk_rows, ++chunk) {
        const bool is_there = bytes.at(chunk) > 0;
        places.push_back(is_there ? std::optional(finder.place(bytes[chunk], sums.at(chunk)))
                                  : std::nullopt);
      }
      columns.push_back({std::move(described_column), number(widths, "bytes", column++), rows,
                         chunk_rows, [archive, places = std::move(places)](std::size_t at) {
                           const std::string_view place = places.at(at).value_or("");
                           if (places[at] && place.empty()) throw H5Error("a chunk is lost");
                           return std::string(place);
                         }});
    }
    tables.emplace(name, StoredTable(name, std::move(columns)));
  }
  return tables;
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
      head_table(index),
      to_cells_table(index.cells),
      {"sizes", {plain("rows", layout.rows), plain("chunk_rows", layout.chunk_rows)}},
      {"widths", {plain("bytes", layout.widths)}},
      {"chunks", {plain("bytes", layout.bytes), plain("sum", layout.sums)}}};
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
  const auto archive = std::make_shared<const std::string>(file_bytes(path));
  std::optional<std::string> bytes = untwofold(*archive);
  if (!bytes) throw H5Error("there is no spare copy");
  const PackedTables spare(std::move(*bytes));
  const std::map<std::string, StoredTable> tables = found_tables(spare, archive);
  return StoredCells(path, index_in(spare), [&](const std::string& name) {
    const auto found = tables.find(name);
    return found != tables.end() ? std::optional(found->second) : std::nullopt;
  });
}

}  // namespace sweep
