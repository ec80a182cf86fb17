#include "sweeps/upkeep/salvage.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "sweeps/archive/reader.hpp"
#include "sweeps/files/child_process.hpp"
#include "sweeps/hdf5/bytes.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/upkeep/check.hpp"
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
  explicit Wreck(bool previous = false) : ArchiveWorld(kSalvageCells) {
    options.keep_previous = previous;
    open();
    for (const int cell : {0, 2, 1, 3, 4, 5}) {
      commit(cell);
      archive().merge();
    }
    archive().finalize();  // in another order, so that the archive before has all, too
    close();
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

/// Whatever the new archive says is a result is one of the old archive's, to the bit.
int results_as_before(const Wreck& wreck) {
  CHECK(check_archive(wreck.target()).empty());
  const ArchiveReader saved(wreck.target());
  int results = 0;
  for (const CellRecord& cell : saved.cells()) {
    if (cell.status != CellStatus::ok) continue;
    ++results;
    const auto number = static_cast<int>(std::get<std::int64_t>(cell.axes[1].second));
    CHECK(cell.digest == shard_records(wreck.bytes(number), "").front().digest);
  }
  return results;
}

}  // namespace

TEST_CASE("an archive whose keys cannot be read is salvaged whole", "[archive][salvage]") {
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
  wreck.damage("jobs/job");  // one chunk holds all cells' jobs
  const Salvage salvage = wreck.salvage();
  CHECK(salvage.saved == 0);
  REQUIRE(salvage.lost.size() == kSalvageCells);
  CHECK_THAT(salvage.lost[1], Contains("cell 1 (gpu=a100-40gb jps=1), ok: no copy of it is whole"));
  CHECK(ArchiveReader(wreck.target()).cells().size() == kSalvageCells);
}

TEST_CASE("a single bit that has flipped in a chunk is found by its checksum and repaired",
          "[archive][salvage]") {
  Wreck wreck;
  for (const char* column : {"jobs/job", "steps/n_tok", "sched/tokens", "cells/key"}) {
    wreck.damage(column, 1);
  }
  CHECK(wreck.salvage().saved == kSalvageCells);
  CHECK(results_as_before(wreck) == kSalvageCells);
  CHECK_FALSE(check_archive(wreck.path()).empty());  // which is only read
}

TEST_CASE("a bit that has flipped in each object header is found by their checksums and repaired",
          "[archive][salvage]") {
  const Wreck wreck;
  const std::string& whole = wreck.whole();
  std::mt19937 random(12);
  for (int trial = 0; trial < support::scaled(8); ++trial) {
    std::string bytes = whole;
    const auto flip = [&](std::size_t byte) {
      bytes[byte] = static_cast<char>(bytes[byte] ^ 1 << random() % 8);
    };
    int flipped = 1;
    flip(random() % 48);  // of the superblock
    for (const auto& [mark, least] : {std::pair("OHDR", 100u), std::pair("OCHK", 20u)}) {
      for (std::size_t at = whole.find(mark); at != whole.npos; at = whole.find(mark, at + 1)) {
        flip(at + random() % least);
        ++flipped;
      }
    }
    REQUIRE(flipped > 100);
    CHECK(repair_headers({reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()}) ==
          flipped);
    CHECK((bytes == whole));
  }
  for (const std::size_t size : {0u, 3u, 50u, 3000u}) {  // of what is left of a file
    std::string bytes = whole.substr(0, size);
    repair_headers({reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()});
  }
}

TEST_CASE("an archive whose superblock is overwritten is salvaged whole", "[archive][salvage]") {
  Wreck wreck;
  std::fstream(wreck.path(), std::ios::in | std::ios::out | std::ios::binary)
      << std::string(48, 'x');
  CHECK_THAT(error_of<ArchiveDamaged>([&] { ArchiveReader reader(wreck.path()); }),
             Contains(wreck.path()));
  CHECK(wreck.salvage().saved == kSalvageCells);
  CHECK(results_as_before(wreck) == kSalvageCells);
}

TEST_CASE("an archive with a bit flipped in a header of a table is salvaged whole",
          "[archive][salvage]") {
  const Wreck wreck;
  wreck.flip(wreck.whole().find("OHDR", wreck.whole().size() / 2) + 29, 2);
  CHECK_FALSE(check_archive(wreck.path()).empty());
  CHECK(wreck.salvage().saved == kSalvageCells);
  CHECK(results_as_before(wreck) == kSalvageCells);
}

TEST_CASE("a bit that has flipped in an index of chunks is found and repaired",
          "[archive][salvage]") {
  const Wreck wreck;
  const std::string& whole = wreck.whole();
  std::mt19937 random(3);
  constexpr std::size_t kUsed = 24 + 24 + 8;  // a node with one chunk, without its end
  int reported = 0;
  for (std::size_t at = whole.find("TREE"); at != whole.npos; at = whole.find("TREE", at + 1)) {
    wreck.undo();
    wreck.flip(at, 0);
    const auto problems = check_archive(wreck.path());
    const std::string index = "the index of chunks at byte " + std::to_string(at);
    if (problems.empty() || problems[0].find(index) == std::string::npos) continue;  // of no table
    wreck.flip(at, 0);
    const std::size_t byte = random() % kUsed;
    const int bit = static_cast<int>(random() % 8);
    INFO("bit " << bit << " of byte " << byte << " of the node at " << at);
    wreck.flip(at + byte, bit);
    std::string bytes = file_bytes(wreck.path());
    CHECK(repair_chunk_indices({reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()}) ==
          1);
    std::ofstream(wreck.path(), std::ios::binary) << bytes;
    CHECK(check_archive(wreck.path()).empty());  // equal chunks may have changed places
    ++reported;
  }
  CHECK(reported > 50);
}

TEST_CASE("an archive with a bit flipped in an index of chunks is salvaged whole",
          "[archive][salvage]") {
  const Wreck wreck;
  haddr_t chunk = HADDR_UNDEF;
  {
    const H5File file = open_h5(wreck.path());
    const H5Dataset column(H5Dopen2(file.get(), "jobs/job", H5P_DEFAULT), "open a column");
    const hsize_t first = 0;
    hsize_t size = 0;
    unsigned filters = 0;
    h5_check(H5Dget_chunk_info_by_coord(column.get(), &first, &filters, &chunk, &size),
             "find its chunk");
  }
  const std::string address(reinterpret_cast<const char*>(&chunk), sizeof chunk);
  wreck.damage_text(address);  // wherever it stands
  CHECK_FALSE(check_archive(wreck.path()).empty());
  CHECK(wreck.salvage().saved == kSalvageCells);
  CHECK(results_as_before(wreck) == kSalvageCells);
}

TEST_CASE("what is lost in an archive comes from what it was before", "[archive][salvage]") {
  Wreck wreck(true);
  wreck.damage("jobs/job");
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

TEST_CASE("damaged descriptions of tables cost no result", "[archive][salvage]") {
  Wreck wreck;
  wreck.damage_text("scheduled tokens");  // in a heap without checksums
  CHECK_FALSE(check_archive(wreck.path()).empty());
  CHECK(wreck.salvage().saved == kSalvageCells);
  CHECK(results_as_before(wreck) == kSalvageCells);
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
