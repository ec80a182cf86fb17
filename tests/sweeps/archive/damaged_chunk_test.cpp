// Archives with a whole index and a damaged chunk of a table.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sweeps/archive/reader.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

namespace {

/// Flips a bit in the middle of the first chunk of a column.
void damage_chunk(const std::string& path, const std::string& column) {
  haddr_t address = HADDR_UNDEF;
  hsize_t size = 0;
  {
    const H5File file = open_h5(path);
    const H5Dataset dataset(H5Dopen2(file.get(), column.c_str(), H5P_DEFAULT), "open " + column);
    const hsize_t first = 0;
    unsigned filters = 0;
    h5_check(H5Dget_chunk_info_by_coord(dataset.get(), &first, &filters, &address, &size),
             "find the chunk of " + column);
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(address + size / 2);
  file.seekg(middle);
  const auto byte = static_cast<char>(file.get() ^ 4);
  file.seekp(middle);
  file.put(byte);
}

/// Two of three cells are done, and a chunk of their steps is damaged.
void damaged(ArchiveWorld& world, const std::string& column = "steps/n_tok") {
  world.open();
  world.run_all({0, 1});
  world.close();
  damage_chunk(world.path(), column);
}

}  // namespace

TEST_CASE("rows that cannot be read are damage of their archive, and its index can still be read",
          "[archive]") {
  ArchiveWorld world(3);
  damaged(world);
  ArchiveReader reader(world.path());
  CHECK(reader.cells()[1].status == CellStatus::ok);
  CHECK_THAT(error_of<ArchiveDamaged>([&] { reader.load(0); }),
             Contains(world.path() + " is damaged: cannot read the column steps/n_tok"));
  CHECK_THAT(error_of<ArchiveDamaged>([&] { reader.load_table(1, "steps"); }),
             Contains("is damaged"));
  CHECK(reader.load_table(1, "jobs").rows() == 1);
  CHECK(check_archive(world.path()).size() == 2);  // both cells in the chunk
}

TEST_CASE("an archive with a damaged chunk is refused before a run, and left as it is",
          "[archive]") {
  ArchiveWorld world(3);
  damaged(world);
  const std::string before = file_bytes(world.path());
  CHECK_THAT(error_of<ArchiveDamaged>([&] { world.open(); }),
             Contains("results.h5 is damaged: the column steps/n_tok is not whole"));
  CHECK(file_bytes(world.path()) == before);
}

TEST_CASE("an archive with a damaged chunk is not merged with another, though no result needs it",
          "[archive]") {
  ArchiveWorld world(3), other(3);
  damaged(world, "steps/cell");  // which follows from the ranges in /cells
  other.open();
  other.run_all({2});
  other.close();
  const std::string target = world.scratch() + "/both.h5";
  CHECK_THAT(error_of<ArchiveDamaged>([&] { merge_archives(world.path(), other.path(), target); }),
             Contains("results.h5 is damaged: the column steps/cell is not whole"));
  CHECK_FALSE(std::filesystem::exists(target));
}

TEST_CASE("a merge that would copy a damaged chunk says so, and changes nothing", "[archive]") {
  ArchiveWorld world(3);
  world.open();
  world.run_all({0, 1});
  world.open();
  world.commit(2);
  damage_chunk(world.path(), "steps/n_tok");
  const std::string before = file_bytes(world.path());
  CHECK_THAT(error_of<ArchiveDamaged>([&] { world.archive().finalize(); }),
             Contains("results.h5 is damaged: cannot read the column steps/n_tok"));
  CHECK(file_bytes(world.path()) == before);
  CHECK(ArchiveReader(world.path()).load(2).result.steps.rows() == 22);  // in its shard
}

TEST_CASE("a plan that leaves out a cell with damaged rows says so", "[archive]") {
  ArchiveWorld world(3);
  damaged(world);
  world.plan.erase(world.plan.begin());
  CHECK_THAT(error_of<ArchiveDamaged>([&] { world.open(); }), Contains("results.h5 is damaged"));
}

TEST_CASE("whether a driver is alive is seen from outside, and looking does not disturb it",
          "[archive]") {
  ArchiveWorld world(1);
  CHECK_FALSE(live_driver(world.path()));
  world.open();
  const auto driver = live_driver(world.path());
  REQUIRE(driver);
  CHECK(driver->is_certain);
  CHECK(driver->holder.host == "node-1");
  CHECK(driver->holder.pid == ::getpid());
  world.close();
  CHECK_FALSE(live_driver(world.path()));
}

TEST_CASE("a driver that was killed leaves a lock that nobody holds", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  const std::string lock = file_bytes(world.spool() + "/lock");
  world.close();
  std::ofstream(world.spool() + "/lock") << lock;
  CHECK_FALSE(live_driver(world.path()));
}
