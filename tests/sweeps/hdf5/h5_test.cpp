#include "sweeps/hdf5/h5.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "sweeps/hdf5/h5_table.hpp"
#include "sweeps/tables/result.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"
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
            "cannot read the column turns/t_arrive_s: the checksum of a chunk is wrong");
  }
}

TEST_CASE("bits that are flipped anywhere in a file change no number that is read of it") {
  const StoredTables archive;
  const Table turns = some_turns(50'000);  // four chunks a column
  archive.write(turns);
  const std::string whole = archive.bytes();
  std::mt19937 random(7);
  int refused = 0;
  for (int trial = 0; trial < support::scaled(100); ++trial) {
    std::string damaged = whole;
    for (int flip = 0; flip < 5; ++flip) {
      char& byte = damaged[random() % damaged.size()];
      byte = static_cast<char>(byte ^ (1 << random() % 8));
    }
    std::ofstream(archive.path(), std::ios::binary) << damaged;
    try {
      const Table read = archive.read("turns");
      CHECK(same_results(turns, read));
    } catch (const H5Error&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
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
