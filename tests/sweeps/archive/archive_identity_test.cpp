// Which file an archive is, and which it was before.
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sweeps/archive/reader.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

int results_in(const std::string& path) {
  const ArchiveReader archive(path);
  int results = 0;
  for (const CellRecord& cell : archive.cells()) {
    results += cell.status == CellStatus::ok ? 1 : 0;
  }
  return results;
}

}  // namespace

TEST_CASE("an archive that is replaced while a run goes on is left alone, and the shards stay",
          "[archive]") {
  ArchiveWorld world(3);
  world.open();
  world.run_all({0});
  fs::copy_file(world.path(), world.path() + ".older");
  world.commit(1);
  world.archive().merge();
  world.commit(2);
  fs::rename(world.path() + ".older", world.path());
  const std::string older = file_bytes(world.path());
  CHECK_THAT(error_of<ArchiveIncompatible>([&] { world.archive().finalize(); }),
             Contains("is not the file that this run left there"));
  CHECK(file_bytes(world.path()) == older);
  CHECK(fs::exists(world.shard(2)));
  world.close();
  CHECK(results_in(world.path() + ".prev") == 1);
}

TEST_CASE("an archive that is replaced while it is opened is read as the old or the new one",
          "[archive]") {
  ArchiveWorld few(3), many(3);
  few.open();
  few.close();
  many.open();
  many.run_all({0, 1, 2});
  many.close();
  const std::string path = many.scratch() + "/either.h5", next = path + ".next";
  fs::copy_file(few.path(), path);
  std::atomic<bool> over = false;
  std::thread driver([&] {
    for (int i = 0; !over; ++i) {
      fs::copy_file(i % 2 == 0 ? many.path() : few.path(), next);
      fs::rename(next, path);
    }
  });
  for (int i = 0; i < support::scaled(60); ++i) CHECK_NOTHROW(ArchiveReader(path));
  over = true;
  driver.join();
}

TEST_CASE("an archive with other results is not taken for the one that a run left there",
          "[archive]") {
  ArchiveWorld other(3);
  other.variant = "another";
  ArchiveWorld world(3);
  for (ArchiveWorld* each : {&other, &world}) {
    each->open();
    each->run_all({0});
  }
  world.commit(1);
  std::string bytes = file_bytes(other.path());
  REQUIRE(bytes.size() <= fs::file_size(world.path()));
  bytes.resize(fs::file_size(world.path()));
  std::ofstream(world.path(), std::ios::binary) << bytes;  // in the same file
  CHECK_THAT(error_of<ArchiveIncompatible>([&] { world.archive().merge(); }),
             Contains("is not the archive that this run left there"));
  CHECK(file_bytes(world.path()) == bytes);
  CHECK(fs::exists(world.shard(1)));
}

TEST_CASE("an archive that is removed while a run goes on does not come back without its results",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  fs::remove(world.path());
  CHECK_THAT(error_of<ArchiveIncompatible>([&] { world.archive().merge(); }), Contains("removed"));
  CHECK_FALSE(fs::exists(world.path()));
  CHECK(fs::exists(world.shard(0)));
}

TEST_CASE("a driver that comes through a symbolic link finds the lock and leaves the link",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  const std::string link = world.scratch() + "/link.h5";
  fs::create_symlink("results.h5", link);
  CHECK(live_driver(link));
  FileOps files;
  CHECK_THAT(error_of<ArchiveInUse>([&] { Archive(link, world.options, world.plan, files); }),
             Contains("in use"));
  world.close();
  {
    Archive archive(link, world.options, world.plan, files);
    archive.commit(world.key(0), world.bytes(0));
    archive.finalize();
  }
  CHECK(fs::is_symlink(link));
  CHECK(results_in(world.path()) == 1);
  CHECK(results_in(link) == 1);
  CHECK_FALSE(fs::exists(link + ".d"));
}

TEST_CASE("an archive keeps its permissions when results are added", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.run_all({0});
  fs::permissions(world.path(), fs::perms::owner_read | fs::perms::group_read);
  world.commit(1);
  world.archive().finalize();
  CHECK(fs::status(world.path()).permissions() == (fs::perms::owner_read | fs::perms::group_read));
  CHECK(results_in(world.path()) == 2);
}

TEST_CASE("links that lead to themselves are an error", "[archive]") {
  const support::TempDir folder;
  const std::string link = (folder.path() / "a").string();
  fs::create_symlink("a", link);
  CHECK_THAT(error_of<FileError>([&] { resolved(link); }), Contains("cannot follow " + link));
}

TEST_CASE("what an archive was before its last change stays beside it", "[archive]") {
  ArchiveWorld world(3);
  world.open();
  world.commit(1);
  world.archive().merge();
  CHECK_FALSE(fs::exists(world.path() + ".prev"));  // it had no result
  world.commit(0);
  world.archive().merge();
  CHECK(results_in(world.path() + ".prev") == 1);
  world.commit(2);
  world.archive().finalize();
  world.close();
  CHECK(results_in(world.path() + ".prev") == 2);
  CHECK(check_archive(world.path() + ".prev").empty());
  world.open();  // changes nothing
  world.archive().finalize();
  CHECK(results_in(world.path() + ".prev") == 2);
}

TEST_CASE("cells that were merged in another order are sorted, also across chunks", "[archive]") {
  constexpr int kSteps = 9000;  // a chunk has rows of two cells, and a cell those of two chunks
  ArchiveWorld world(7, kSteps);
  world.open();
  for (const int cell : {5, 2, 6, 0, 4, 1, 3}) {
    world.commit(cell);
    world.archive().merge();
  }
  world.archive().finalize();
  world.close();
  CHECK(check_archive(world.path()).empty());
  ArchiveReader reader(world.path());
  for (int cell = 0; cell < 7; ++cell)
    CHECK(same_results(reader.load_table(cell, "steps"), world.result(cell).result.steps));
}

TEST_CASE("nothing is kept of what an archive was before when that is not wanted", "[archive]") {
  ArchiveWorld world(2);
  world.options.keep_previous = false;
  world.open();
  world.run_all({1, 0});
  world.close();
  CHECK_FALSE(fs::exists(world.path() + ".prev"));
}

TEST_CASE("where the file system has no hard links, a run goes on and says so once", "[archive]") {
  struct NoLinks : FileOps {
    bool link(const std::string&, const std::string&) override { return false; }
  } files;
  ArchiveWorld world(2);
  world.files = &files;
  world.open();
  world.commit(1);
  world.archive().merge();
  world.commit(0);
  world.archive().finalize();
  world.close();
  REQUIRE(world.warnings.size() == 1);
  CHECK_THAT(world.warnings[0], Contains("there can be no hard link"));
  CHECK(results_in(world.path()) == 2);
}

TEST_CASE("starting afresh sets the archive, what it was before and its shards aside together",
          "[archive]") {
  ArchiveWorld world(3);
  world.open();
  world.commit(1);
  world.archive().merge();
  world.commit(0);
  world.archive().finalize();
  world.commit(2);
  world.open(OpenMode::fresh);
  CHECK(world.done().empty());
  CHECK(results_in(world.path() + ".old1") == 3);  // its shard included
  CHECK(results_in(world.path() + ".old1.prev") == 1);
  CHECK_FALSE(fs::exists(world.path() + ".prev"));
}

TEST_CASE("temporary names do not repeat, and a file that is there is not replaced by a new one",
          "[files]") {
  const support::TempDir folder;
  const std::string a = temporary_name((folder.path() / "a").string());
  CHECK(a != temporary_name((folder.path() / "a").string()));
  CHECK_THAT(a, Contains("/a.") && Catch::Matchers::EndsWith(".tmp"));
  FileOps files;
  files.write(a, "new");
  const std::string taken = folder.write("taken", "old");
  CHECK_THAT(error_of<FileError>([&] { publish_new(files, a, taken); }), Contains("exists"));
  CHECK(file_bytes(taken) == "old");
  publish_new(files, a, taken + "2");
  CHECK(file_bytes(taken + "2") == "new");
  CHECK_FALSE(fs::exists(a));
}

TEST_CASE("a file that is discarded frees its space though it is open", "[files]") {
  const support::TempDir folder;
  const std::string path = folder.write("big", std::string(100'000, 'x'));
  const Descriptor open(path, 0);
  discard(path);
  CHECK_FALSE(fs::exists(path));
  struct stat status {};
  REQUIRE(::fstat(open.get(), &status) == 0);
  CHECK(status.st_size == 0);
}

TEST_CASE("what an archive was stays beside it, also where the new plan has none of its cells",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  world.archive().finalize();
  world.close();
  world.plan.erase(world.plan.begin());
  world.open();
  world.close();
  CHECK(results_in(world.path() + ".prev") == 1);
}

TEST_CASE("a file with two names keeps its bytes when one of them is discarded", "[files]") {
  const support::TempDir folder;
  const std::string one = folder.write("one", "whole"), two = (folder.path() / "two").string();
  fs::create_hard_link(one, two);
  discard(one);
  CHECK_FALSE(fs::exists(one));
  CHECK(file_bytes(two) == "whole");
}
