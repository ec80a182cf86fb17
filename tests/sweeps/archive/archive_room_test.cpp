// What happens to an archive where there is no space, and what may keep a driver out.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <numeric>

#include "sweeps/archive/reader.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/commits/marks.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

namespace {

/// Has no space for files with `full` in their name, nor, if `cramped`, for more than a shard.
class FullDisk : public FileOps {
 public:
  std::string full;
  bool cramped = false;
  std::uint64_t asked = 0;  // bytes of the last require_space()
  void write(const std::string& path, std::string_view bytes) override {
    const bool refuses = !full.empty() && path.find(full) != std::string::npos;
    FileOps::write(path, refuses ? bytes.substr(0, bytes.size() / 2) : bytes);
    if (refuses) throw FileError("write", path, ENOSPC);
  }
  void require_space(const std::string& folder, std::uint64_t bytes) override {
    if (cramped) throw FileError("find space in", folder, EDQUOT);
    asked = bytes;
    FileOps::require_space(folder, bytes);
  }
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("a commit that finds no space can be repeated, and nothing is lost or doubled",
          "[archive]") {
  ArchiveWorld world(2);
  FullDisk disk;
  world.files = &disk;
  world.options.provenance = {{"host", "node-1", true}};
  world.open();
  for (const std::string& name : {std::string(".prov"), world.key(0), world.key(0)}) {
    disk.full = name;
    CHECK_THROWS_AS(world.commit(0), ArchiveNoSpace);
    CHECK(world.done().empty());
  }
  disk.full.clear();
  world.commit(0);
  world.commit(1);
  world.archive().finalize();
  CHECK(world.done() == std::vector{0, 1});
  CHECK(ArchiveReader(world.path()).provenance().rows() == 1);
  CHECK(check_archive(world.path()).empty());
}

TEST_CASE("a merge without space for the copy leaves shards, and the next one takes them",
          "[archive]") {
  ArchiveWorld world(130);
  FullDisk disk;
  world.files = &disk;
  world.open();
  disk.cramped = true;
  for (int cell = 0; cell < 66; ++cell) world.commit(cell);
  CHECK_FALSE(world.archive().merge_if_due());
  CHECK(world.done().size() == 66);
  CHECK_THAT(error_of<ArchiveNoSpace>([&] { world.archive().finalize(); }),
             Contains("what was there is untouched"));
  disk.cramped = false;
  CHECK(world.archive().merge_if_due());
  CHECK(ArchiveReader(world.path()).cells().at(65).status == CellStatus::ok);
}

TEST_CASE("a merge asks for the space of a shard once, however many cells share it", "[archive]") {
  ArchiveWorld world(20);
  FullDisk disk;
  world.files = &disk;
  world.open();
  std::vector<int> cells(20);
  std::iota(cells.begin(), cells.end(), 0);
  const std::vector<std::string> keys = world.keys(cells);
  const std::string bytes = world.bytes(cells);
  world.archive().commit(keys, bytes);
  const auto archive = std::filesystem::file_size(world.path());
  world.archive().merge();
  CHECK(disk.asked >= archive + bytes.size());
  CHECK(disk.asked < archive + 2 * bytes.size());
}

TEST_CASE("a mark that cannot be removed holds up no result, and counts for nothing later",
          "[archive]") {
  struct NoRemoval : FileOps {
    void remove(const std::string& path) override {
      if (path.ends_with(".run")) throw FileError("remove", path, ENOSPC);
      FileOps::remove(path);
    }
  } disk;
  ArchiveWorld world(1);
  world.files = &disk;
  world.open();
  world.archive().marks().write({world.key(0), 1, 0, "node-7", 99, "running", ""});
  world.commit(0);
  CHECK(world.done() == std::vector{0});
  FileOps works;
  world.files = &works;
  world.open();
  CHECK(world.done() == std::vector{0});
  CHECK(world.archive().deaths().empty());
  CHECK(names_in(world.spool()) == std::vector<std::string>{"lock"});
}

TEST_CASE("a run without room is told before it computes, and leaves no file of the trial",
          "[archive]") {
  ArchiveWorld world(1);
  FullDisk disk;
  world.files = &disk;
  world.open();
  world.archive().check_room();
  CHECK(names_in(world.spool()) == std::vector<std::string>{"lock"});
  disk.cramped = true;
  CHECK_THROWS_AS(world.archive().check_room(), ArchiveNoSpace);
  disk.cramped = false;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of<ArchiveWriteFailed>([&] { world.archive().check_room(); });
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK_THAT(error, Contains("cannot write 5 MiB to a file (see ulimit -f)"));
  CHECK(names_in(world.spool()) == std::vector<std::string>{"lock"});
}

TEST_CASE("only what may write beside an archive may open its lock", "[archive]") {
  ArchiveWorld world(1);
  for (const auto& [folder, lock] :
       {std::pair(0755, 0600), std::pair(0775, 0660), std::pair(0777, 0666)}) {
    ::mkdir(world.spool().c_str(), 0777);
    ::chmod(world.spool().c_str(), static_cast<mode_t>(folder));
    world.open();
    CHECK(mode_of(world.spool() + "/lock") == static_cast<mode_t>(lock));
    world.close();
  }
}

TEST_CASE("a driver's heartbeat is visible to other processes", "[archive]") {
  ArchiveWorld world(1);
  world.open();
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (world.spool() + "/lock").c_str(), long_ago, 0) == 0);
  CHECK(live_driver(world.path())->heard == 1000);
  world.archive().heartbeat();
  CHECK(std::abs(std::difftime(std::time(nullptr), live_driver(world.path())->heard)) < 60);
}

TEST_CASE("a mark with a process id that another process has now is of a dead one", "[archive]") {
  RunMark mark;
  mark.host = "here";
  mark.pid = ::getpid();
  CHECK_FALSE(process_is_gone(mark, "here"));  // of a driver that noted no start
  mark.start_ticks = process_start(mark.pid).value();
  CHECK(mark.start_ticks > 0);
  CHECK_FALSE(process_is_gone(mark, "here"));
  ++mark.start_ticks;
  CHECK(process_is_gone(mark, "here"));
  CHECK_FALSE(process_is_gone(mark, "elsewhere"));
}

TEST_CASE("a process that is dead and not yet reaped is gone", "[archive]") {
  RunMark mark;
  mark.host = "here";
  mark.pid = ::fork();
  if (mark.pid == 0) ::_exit(0);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(mark.pid), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(process_is_gone(mark, "here"));
  ::waitpid(static_cast<pid_t>(mark.pid), nullptr, 0);
}
