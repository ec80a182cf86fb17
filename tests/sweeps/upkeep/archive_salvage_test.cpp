#include "sweeps/upkeep/upkeep.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "sweeps/archive/names.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/files/twofold.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/h5_table.hpp"
#include "sweeps/process/child_process.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int kSalvageCells = 6;

/// A finished archive, and what salvage makes of it.
class Wreck : public ArchiveWorld {
 public:
  explicit Wreck(bool previous = false, int steps = 20) : ArchiveWorld(kSalvageCells, steps) {
    options.keep_previous = previous;
    open();
    for (const int cell : {0, 2, 1, 3, 4, 5}) {
      commit(cell);
      archive().merge();
    }
    close();
    if (previous) fs::copy_file(path(), path() + ".prev", fs::copy_options::overwrite_existing);
    whole_ = file_bytes(path());
  }
  std::string target() const { return scratch() + "/saved.h5"; }
  void flip(std::size_t byte, int bit) const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(byte));
    const auto changed = static_cast<char>(file.get() ^ (1 << bit));
    file.seekp(static_cast<std::streamoff>(byte));
    file.put(changed);
  }
  /// Flips so many bits of the first chunk of a column, each in another byte.
  void damage(const std::string& column, int bits = 5) const {
    haddr_t address = HADDR_UNDEF;
    hsize_t size = 0;
    {
      const H5File file = open_h5(path());
      const H5Dataset dataset(H5Dopen2(file.get(), column.c_str(), H5P_DEFAULT), "open " + column);
      const hsize_t first = 0;
      unsigned filters = 0;
      h5_check(H5Dget_chunk_info_by_coord(dataset.get(), &first, &filters, &address, &size),
               "find the chunk of " + column);
    }
    for (int i = 0; i < bits; ++i) flip(address + size / 4 + static_cast<hsize_t>(3 * i), i);
  }
  /// Flips a bit of every place where the text lies in the file.
  void damage_text(const std::string& text) const {
    std::size_t at = whole_.find(text);
    REQUIRE(at != std::string::npos);
    for (; at != std::string::npos; at = whole_.find(text, at + 1)) flip(at, 0);
  }
  void undo() const { std::ofstream(path(), std::ios::binary) << whole_; }
  Salvage salvage() const {
    fs::remove(target());
    return salvage_archive(path(), target());
  }
  const std::string& whole() const { return whole_; }

 private:
  std::string whole_;
};

/// Where the chunks of an archive's tables lie, and which cells have rows in them.
struct StoredRows {
  haddr_t begin, end;
  std::set<int> cells;
};
std::vector<StoredRows> rows_in_file(const std::string& path) {
  std::vector<StoredRows> found;
  const ArchiveReader reader(path);
  const H5File file = open_h5(path);
  for (std::size_t table = 0; table < kCellTables.size(); ++table) {
    const std::string name(kCellTables[table]);
    if (!has_object(file.get(), name)) continue;
    const H5Group group(H5Gopen2(file.get(), name.c_str(), H5P_DEFAULT), "open " + name);
    for (const std::string& column : read_texts_attribute(group.get(), "columns")) {
      const H5Dataset data(H5Dopen2(group.get(), column.c_str(), H5P_DEFAULT), "open " + column);
      const H5Space space(H5Dget_space(data.get()), "get the space of " + column);
      hsize_t chunks = 0, first = 0, size = 0;
      h5_check(H5Dget_num_chunks(data.get(), space.get(), &chunks), "count chunks");
      for (hsize_t i = 0; i < chunks; ++i) {
        haddr_t at = 0;
        h5_check(H5Dget_chunk_info(data.get(), space.get(), i, &first, nullptr, &at, &size),
                 "find a chunk");
        StoredRows& rows = found.emplace_back(StoredRows{at, at + size, {}});
        for (const CellRecord& cell : reader.cells()) {
          const auto begin = static_cast<hsize_t>(cell.rows[table].offset),
                     end = begin + static_cast<hsize_t>(cell.rows[table].rows);
          if (begin < first + kChunkRows && end > first) rows.cells.insert(cell.index);
        }
      }
    }
  }
  return found;
}

/// Whatever the new archive says is a result is one of the old archive's, to the bit.
int results_as_before(const Wreck& wreck) {
  CHECK(check_archive(wreck.target()).empty());
  const ArchiveReader saved(wreck.target());
  int results = 0;
  for (const CellRecord& cell : saved.cells()) {
    if (cell.status != CellStatus::ok) continue;
    ++results;
    const auto number = static_cast<int>(std::get<std::int64_t>(cell.axes[1].second));
    CHECK(cell.digest == open_shard(wreck.bytes(number), "").index.cells.front().digest);
  }
  return results;
}

}  // namespace

TEST_CASE("an archive with keys that cannot be read is salvaged whole", "[archive][salvage]") {
  Wreck wreck;
  wreck.damage("cells/key");
  CHECK_THAT(error_of<ArchiveDamaged>([&] { ArchiveReader reader(wreck.path()); }),
             Contains("is damaged"));
  const Salvage salvage = wreck.salvage();
  CHECK(salvage.saved == kSalvageCells);
  CHECK(salvage.lost.empty());
  CHECK(salvage.sources == std::vector<std::string>{wreck.path() + ": 6 results"});
  CHECK(results_as_before(wreck) == kSalvageCells);
  fs::rename(wreck.target(), wreck.path());
  wreck.open();
  CHECK(wreck.done().size() == kSalvageCells);
}

TEST_CASE("rows that are damaged are lost, and each lost result is named", "[archive][salvage]") {
  Wreck wreck;
  wreck.damage("steps/t_s");  // one chunk holds all cells' steps
  const Salvage salvage = wreck.salvage();
  CHECK(salvage.saved == 0);
  REQUIRE(salvage.lost.size() == kSalvageCells);
  CHECK(salvage.lost[1] ==
        "cell 1 (gpu=a100-40gb jps=1), ok: no copy of it is whole; damaged: steps/t_s");
  CHECK(ArchiveReader(wreck.target()).cells().size() == kSalvageCells);
}

TEST_CASE("an archive with its superblock overwritten is salvaged whole", "[archive][salvage]") {
  Wreck wreck;
  std::fstream(wreck.path(), std::ios::in | std::ios::out | std::ios::binary)
      << std::string(48, 'x');
  CHECK_THAT(error_of<ArchiveDamaged>([&] { ArchiveReader reader(wreck.path()); }),
             Contains(wreck.path()));
  CHECK(wreck.salvage().saved == kSalvageCells);
  CHECK(results_as_before(wreck) == kSalvageCells);
}

TEST_CASE("an archive that is whole is salvaged without a copy of it in memory",
          "[archive][salvage]") {
  const Wreck wreck;
  constexpr std::streamoff kFar = std::streamoff{1} << 40;  // more than memory has room for
  const std::string spare =
      wreck.whole().substr(wreck.whole().size() - twofold_bytes(wreck.whole()));
  std::fstream file(wreck.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kFar) << spare;  // behind a hole
  if (!file.flush()) SKIP_TEST("the file system has no files of 1 TiB");
  CHECK(wreck.salvage().saved == kSalvageCells);
  CHECK(results_as_before(wreck) == kSalvageCells);
}

TEST_CASE("what is lost in an archive comes from what it was before", "[archive][salvage]") {
  Wreck wreck(true);
  wreck.damage("steps/t_s");
  const Salvage salvage = wreck.salvage();
  CHECK(salvage.lost.empty());
  CHECK(salvage.sources == std::vector<std::string>{wreck.path() + ".prev: 6 results"});
  CHECK(results_as_before(wreck) == kSalvageCells);
}

TEST_CASE("results in shards are saved, of an archive that is no file of HDF5 any more, too",
          "[archive][salvage]") {
  ArchiveWorld world(3);
  world.open();
  world.commit(2);
  world.commit(0);
  world.close();
  std::ofstream(world.path()) << "not an archive";
  std::ofstream(world.spool() + "/" + world.key(1) + ".h5") << "not a shard";
  const std::string target = world.scratch() + "/saved.h5";
  const Salvage salvage = salvage_archive(world.path(), target);
  CHECK(salvage.saved == 2);
  CHECK(check_archive(target).empty());
  CHECK(ArchiveReader(target).cells().size() == 2);
}

TEST_CASE("files that a newer program wrote are named, and the others are salvaged",
          "[archive][salvage]") {
  Wreck wreck(true);
  const std::string why = wreck.path() +
                          " has schema 7, and this program reads schemas up to 2; a newer kvsweep "
                          "wrote it";
  {
    H5File file = open_h5_for_writing(wreck.path());
    h5_check(H5Adelete(file.get(), "schema_major"), "remove the schema");
    write_attribute(file.get(), "schema_major", std::int64_t{7});
    file.close_checked("close");
  }
  SECTION("the archive") {
    const Salvage salvage = wreck.salvage();
    CHECK(salvage.lost == std::vector{"any result that only " + wreck.path() + " has; " + why});
    CHECK(salvage.sources == std::vector{wreck.path() + ".prev: 6 results"});
    CHECK(results_as_before(wreck) == kSalvageCells);
  }
  SECTION("the archive and a shard, beside a shard that can be read") {
    fs::remove(wreck.path() + ".prev");
    fs::create_directory(wreck.spool());
    std::string newer = wreck.bytes(1);
    newer.resize(newer.size() - kTrailerBytes);
    newer.replace(newer.find(" 1\n"), 2, " 2");
    std::ofstream(wreck.shard(1), std::ios::binary) << sealed(newer);
    std::ofstream(wreck.shard(4), std::ios::binary) << wreck.bytes(4);
    const Salvage salvage = wreck.salvage();
    CHECK(salvage.saved == 1);
    REQUIRE(salvage.lost.size() == 2);
    CHECK_THAT(salvage.lost[1], Contains(wreck.shard(1) + " has tables of version 2"));
    CHECK(check_archive(wreck.target()).empty());
  }
  SECTION("nothing else") {
    fs::remove(wreck.path() + ".prev");
    CHECK_THAT(error_of<ArchiveDamaged>([&] { wreck.salvage(); }),
               Contains("nothing can be saved") && Contains(why));
  }
}

TEST_CASE("an archive with twenty flipped bits ends as a whole one, with what has its digest",
          "[archive][salvage]") {
  Wreck wreck(true);
  std::mt19937 random(11);
  int saved = 0;
  for (int trial = 0; trial < support::scaled(6); ++trial) {
    INFO("trial " << trial);
    wreck.undo();
    for (int i = 0; i < 20; ++i) {
      wreck.flip(random() % wreck.whole().size(), static_cast<int>(random() % 8));
    }
    wreck.salvage();
    saved += results_as_before(wreck);
  }
  CHECK(saved == support::scaled(6) * kSalvageCells);  // the archive before is whole
}

TEST_CASE("flipped bits cost the cells with rows in their chunks alone, and those are named",
          "[archive][salvage]") {
  constexpr int kSteps = 9000;  // a chunk has rows of two or three cells
  Wreck wreck(false, kSteps);
  const std::vector<StoredRows> chunks = rows_in_file(wreck.path());
  std::mt19937_64 random(4);
  int lost = 0, whole = 0;
  for (int trial = 0; trial < std::max(2, support::scaled(8)); ++trial) {
    wreck.undo();
    std::set<int> hit;
    for (int flip = 0; flip < (trial % 2 == 0 ? 1 : 20); ++flip) {
      const std::size_t at = random() % wreck.whole().size();
      wreck.flip(at, static_cast<int>(random() % 8));
      for (const StoredRows& rows : chunks)
        if (rows.begin <= at && at < rows.end) hit.insert(rows.cells.begin(), rows.cells.end());
    }
    INFO("trial " << trial);
    const Salvage salvage = wreck.salvage();
    results_as_before(wreck);
    const ArchiveReader saved(wreck.target());
    for (const CellRecord& cell : saved.cells()) {
      if (hit.contains(cell.index)) continue;
      ++whole;
      CHECK(cell.status == CellStatus::ok);
    }
    CHECK(salvage.saved + static_cast<int>(salvage.lost.size()) == kSalvageCells);
    for (const std::string& each : salvage.lost) CHECK_THAT(each, Contains("; damaged: s"));
    lost += static_cast<int>(salvage.lost.size());
  }
  CHECK(lost > 0);
  CHECK(whole > 0);
}

TEST_CASE("salvage writes nothing where nothing can be saved, and replaces no file",
          "[archive][salvage]") {
  const support::TempDir folder;
  const std::string path = folder.write("a.h5", "not an archive"),
                    target = folder.write("b.h5", "x");
  CHECK_THAT(error_of<FileError>([&] { salvage_archive(path, target); }), Contains("exists"));
  CHECK(file_bytes(target) == "x");
  fs::remove(target);
  CHECK_THAT(error_of<ArchiveDamaged>([&] { salvage_archive(path, target); }),
             Contains("nothing can be saved"));
  CHECK(names_in(folder.path().string()) == std::vector<std::string>{"a.h5"});
}

TEST_CASE("nothing is salvaged beside a driver that moves results", "[archive][salvage]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  const std::string target = world.scratch() + "/saved.h5";
  CHECK_THROWS_AS(salvage_archive(world.path(), target), ArchiveInUse);
  CHECK_FALSE(fs::exists(target));
  world.close();
  CHECK(salvage_archive(world.path(), target).saved == 1);
}

TEST_CASE("a child process that crashes ends alone, and its signal is known", "[child]") {
  CHECK(ChildProcess([] { return 7; }).wait().exit_code == 7);
  const ChildEnd crashed = ChildProcess([]() -> int { std::abort(); }).wait();
  CHECK(crashed.signal == SIGABRT);
  CHECK(is_crash(crashed.signal));
  CHECK_FALSE(is_crash(SIGTERM));
  const ChildReport report = report_of_child([] { return std::string(200'000, 'x'); });
  CHECK(report.text.size() == 200'000);
  CHECK(report_of_child([]() -> std::string { throw std::runtime_error("why"); }).text == "why");
}
