#include "sweeps/hdf5/h5.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "sweeps/hdf5/bytes.hpp"
#include "sweeps/hdf5/column.hpp"
#include "sweeps/hdf5/digest.hpp"
#include "sweeps/tables/result.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace sweep;

namespace {

/// A file in a folder of its own, written and read like an archive.
class StoredTables {
 public:
  void write(const Table& table) const {
    std::filesystem::remove(path());
    H5File file = create_h5(path());
    write_table(file.get(), table);
    file.close_checked("close " + path());
  }
  Table read(const std::string& table) const { return read_table(open_h5(path()).get(), table); }
  std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path(), std::ios::binary).rdbuf();
    return std::move(text).str();
  }
  /// Where a column's first chunk lies in the file: offset and bytes.
  std::pair<std::size_t, std::size_t> first_chunk(const std::string& column) const {
    const H5File file = open_h5(path());
    const H5Dataset dataset(H5Dopen2(file.get(), column.c_str(), H5P_DEFAULT), "open " + column);
    const H5Space space(H5Dget_space(dataset.get()), "get the space of " + column);
    haddr_t offset = 0;
    hsize_t size = 0;
    h5_check(H5Dget_chunk_info(dataset.get(), space.get(), 0, nullptr, nullptr, &offset, &size),
             "find the chunk of " + column);
    return {offset, size};
  }
  std::string path() const { return (folder_.path() / "a.h5").string(); }

 private:
  support::TempDir folder_;
};

std::string h5_complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const H5Error& error) {
    return error.what();
  }
  return "no error";
}

/// By this process, from files.
std::uint64_t bytes_read_so_far() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  file >> name >> bytes;
  REQUIRE(name == "rchar:");
  return bytes;
}

Table some_turns(int rows) {
  std::vector<TurnRow> builder;
  for (int i = 0; i < rows; ++i) {
    TurnRow row;
    row.job = i;
    row.t_arrive_s = 0.1 * i;
    row.tool = i % 3 == 0 ? "" : std::string(static_cast<std::size_t>(i % 40), 'x') + "\xc3\xa9";
    row.last = i % 2 == 0;
    builder.push_back(row);
  }
  return to_table<TurnRow>(builder);
}

bool same_columns(const Table& a, const Table& b) {
  return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](const Column& x, const Column& y) {
                      return x.name == y.name && x.unit == y.unit && x.long_name == y.long_name &&
                             x.is_volatile == y.is_volatile && x.enum_names == y.enum_names;
                    });
}

}  // namespace

TEST_CASE("a table comes back from a file with its rows, units, enumerations and order") {
  const StoredTables archive;
  for (const int rows : {0, 1, 63, 64, 65, 16'384, 16'385}) {
    INFO(rows);
    const Table turns = some_turns(rows);
    archive.write(turns);
    const Table read = archive.read("turns");
    CHECK(same_columns(turns, read));
    CHECK(same_results(turns, read));
  }
}

TEST_CASE("every table of a cell can be stored") {
  const StoredTables archive;
  const CellResult result;
  for (const Table* table : result.tables()) {
    archive.write(*table);
    CHECK(same_columns(*table, archive.read(table->name)));
  }
}

TEST_CASE("texts and attributes come back as they were") {
  const StoredTables archive;
  const std::string text(200'000, 'q');
  {
    H5File file = create_h5(archive.path());
    write_text(file.get(), "toml", text);
    write_text(file.get(), "nothing", "");
    write_attribute(file.get(), "format", "kvsweep");
    write_attribute(file.get(), "schema_major", std::int64_t{1});
    write_attribute(file.get(), "names", std::vector<std::string>{"a", "", "\xc3\xa9"});
  }
  const H5File file = open_h5(archive.path());
  CHECK(read_text(file.get(), "toml") == text);
  CHECK(read_text(file.get(), "nothing").empty());
  CHECK(read_text_attribute(file.get(), "format") == "kvsweep");
  CHECK(read_integer_attribute(file.get(), "schema_major") == 1);
  CHECK(read_texts_attribute(file.get(), "names") == std::vector<std::string>{"a", "", "\xc3\xa9"});
}

TEST_CASE("a flipped bit in stored rows is an error, not a wrong number") {
  const StoredTables archive;
  archive.write(some_turns(5000));
  const auto [offset, size] = archive.first_chunk("turns/t_arrive_s");
  const std::string whole = archive.bytes();
  std::mt19937 random(5);
  for (int flip = 0; flip < support::scaled(100); ++flip) {
    std::string damaged = whole;
    char& byte = damaged[offset + random() % size];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    std::ofstream(archive.path(), std::ios::binary) << damaged;
    REQUIRE(h5_complaint([&] { archive.read("turns"); }) ==
            "cannot read the column t_arrive_s: data error detected by Fletcher32 checksum");
  }
}

TEST_CASE("an index of chunks is whole however its column has grown") {
  const StoredTables archive;
  const Column column{"x", "", "", false, {}, std::vector<std::int32_t>{}};
  const H5Type type = stored_type(column, 1);
  const H5Properties small(H5Pcreate(H5P_DATASET_ACCESS), "create properties");
  h5_check(H5Pset_chunk_cache(small.get(), 1009, 1024, 0.75), "set the cache");
  std::mt19937 random(11);
  H5File file = create_h5(archive.path());
  create_column(file.get(), column, type.get(), 0, 16).close_checked("close x");
  hsize_t rows = 0;
  for (int piece = 0; piece < 300; ++piece) {
    // A piece may end within a chunk. The next one writes it again, of another size and after those
    // behind it, since the small cache prefers to keep chunks that are not full. By then the chunk
    // may begin a node.
    H5Dataset dataset(H5Dopen2(file.get(), "x", small.get()), "open x");
    std::vector<std::int32_t> values(1 + random() % 2000);
    for (std::int32_t& value : values) value = static_cast<std::int32_t>(random() % 1000);
    resize(dataset.get(), rows + values.size());
    write_bytes(dataset.get(), type.get(), rows, values.size(),
                reinterpret_cast<const char*>(values.data()), "x");
    rows += values.size();
    dataset.close_checked("close x");
  }
  file.close_checked("close the file");
  const H5File stored = open_h5(archive.path());
  CHECK_NOTHROW(check_chunk_indices(stored.get()));
}

TEST_CASE("a chunk that its index makes larger than the file is not read") {
  const StoredTables archive;
  archive.write(some_turns(5000));
  std::string damaged = archive.bytes();
  constexpr std::size_t kHighByte = 24 + 3;  // of the size in a node's first key
  for (std::size_t at = damaged.find("TREE"); at != damaged.npos; at = damaged.find("TREE", at + 1))
    damaged[at + kHighByte] = 0x7f;
  std::ofstream(archive.path(), std::ios::binary) << damaged;
  CHECK(h5_complaint([&] { archive.read("turns"); }) == "a chunk of job is larger than its file");
}

TEST_CASE("the digest of a file's objects reads none of its chunks") {
  const StoredTables archive;
  std::mt19937_64 random(3);
  std::vector<std::int64_t> numbers(500'000);
  std::ranges::generate(numbers, [&] { return static_cast<std::int64_t>(random()); });
  archive.write({"turns", {{"x", "", "", false, {}, std::move(numbers)}}});
  const H5File file = open_h5(archive.path());
  const std::uint64_t before = bytes_read_so_far();
  static_cast<void>(objects_digest(file.get(), "footer"));
  const std::uint64_t read = bytes_read_so_far() - before;
  CHECK(read < std::filesystem::file_size(archive.path()) / 10);
}

TEST_CASE("what is missing or not HDF5 is named") {
  support::TempDir folder;
  const std::string text = folder.write("a.h5", "this is not an archive");
  CHECK(h5_complaint([&] { open_h5(text); }).starts_with("cannot open " + text + ": "));
  const StoredTables archive;
  archive.write(some_turns(1));
  CHECK(h5_complaint([&] { archive.read("steps"); }).starts_with("cannot open the table steps: "));
  CHECK_THROWS_WITH(create_h5("/no/such/folder/a.h5"),
                    "cannot create /no/such/folder/a.h5: No such file or directory");
}
