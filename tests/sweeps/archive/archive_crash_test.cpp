#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <set>

#include "sweeps/archive/reader.hpp"
#include "sweeps/definition/input_file.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"
#include "tests/sweeps/archive/archive_world.hpp"
#include "tests/sweeps/archive/forgetful_disk.hpp"

using namespace sweep;

namespace {

constexpr int kCells = 3;

/// Cells in the order in which they run; those of an attempt are committed together.
using Attempts = std::vector<std::vector<int>>;
const Attempts kAlone = {{2}, {0}, {1}}, kTogether = {{0, 2}, {1}};

/// What a run does: marks, commits, a merge on the way, the final merge. `acknowledged` is told of
/// each cell when its commit has returned. Returns what was done before it.
std::vector<int> run(ArchiveWorld& world, const Attempts& attempts,
                     const std::function<void(int)>& acknowledged) {
  Archive& archive = world.open();
  const std::vector<int> done = world.done();
  for (std::vector<int> cells : attempts) {
    std::erase_if(cells, [&done](int cell) { return std::ranges::count(done, cell) > 0; });
    if (cells.empty()) continue;
    RunMark mark{world.key(cells.front()), 1, 0, "n", 1, "running", ""};
    const std::vector<std::string> keys = world.keys(cells);
    mark.with.assign(keys.begin() + 1, keys.end());
    archive.marks().write(mark);
    archive.commit(keys, world.bytes(cells));
    for (const int cell : cells) acknowledged(cell);
    if (cells.front() == 0) archive.merge();
  }
  archive.finalize();
  world.close();
  return done;
}

/// The archive with its shards opens, and has every one of these cells.
void check_has(const ArchiveWorld& world, const std::set<int>& acknowledged) {
  if (!std::filesystem::exists(world.path())) {
    CHECK(acknowledged.empty());
    return;
  }
  ArchiveReader reader(world.path());
  for (const int cell : acknowledged) {
    CHECK(reader.cells()[static_cast<std::size_t>(cell)].status == CellStatus::ok);
    CHECK(same_results(reader.load_table(cell, "steps"), world.result(cell).result.steps));
  }
}

/// An undisturbed run's archive.
class Reference {
 public:
  explicit Reference(const Attempts& attempts = kAlone) : world_(kCells) {
    world_.files = &files_;
    const auto begin = std::chrono::steady_clock::now();
    run(world_, attempts, [](int) {});
    took_ = std::chrono::steady_clock::now() - begin;
  }
  /// Run time, in microseconds; at least 1.
  int micros() const { return std::max(1, static_cast<int>(took_ / std::chrono::microseconds(1))); }
  void check_equal(const std::string& path) const {
    CHECK(archive_differences(world_.path(), path) == std::vector<std::string>{});
    CHECK(check_archive(path) == std::vector<std::string>{});
  }
  /// As check_equal, by digests alone.
  void check_same_results(const std::string& path) const {
    const ArchiveReader mine(world_.path()), other(path);
    for (std::size_t i = 0; i < kCells; ++i) {
      CHECK(mine.cells()[i].digest == other.cells()[i].digest);
    }
  }
  int operations() const { return files_.operations; }

 private:
  WatchedFiles files_;
  ArchiveWorld world_;
  std::chrono::steady_clock::duration took_{};
};

/// Ends the process in order. HDF5 does not free what it holds after a failure, so not where leaks
/// are counted.
[[noreturn]] void leave(int status) {
#ifdef __SANITIZE_ADDRESS__
  ::_exit(status);
#endif
  std::exit(status);
}

/// Runs once for each change to a file: a process is killed ahead of it, and another one goes on.
void kill_ahead_of_each_change(const Attempts& attempts) {
  const Reference reference(attempts);
  REQUIRE(reference.operations() > 30);
  for (int kill_at = 1; kill_at <= reference.operations(); kill_at += support::stride()) {
    INFO("killed at change " << kill_at);
    ArchiveWorld world(kCells);
    WatchedFiles files;
    world.files = &files;
    files.before = [kill_at](int operation) {
      if (operation == kill_at) ::kill(::getpid(), SIGKILL);
    };
    int status = 0;
    const std::set<int> acknowledged =
        acknowledged_by([&](const auto& say) { run(world, attempts, say); }, status);
    REQUIRE(WIFSIGNALED(status));
    check_has(world, acknowledged);
    files.before = [](int) {};
    const std::vector<int> done = run(world, attempts, [](int) {});
    for (const int cell : acknowledged) CHECK(std::count(done.begin(), done.end(), cell) == 1);
    CHECK(world.warnings.empty());
    reference.check_equal(world.path());
  }
}

/// The same for a power cut.
void cut_power_ahead_of_each_change(const Attempts& attempts) {
  const Reference reference(attempts);
  for (int cut_at = 1; cut_at <= reference.operations(); cut_at += support::stride()) {
    INFO("power cut at change " << cut_at);
    ArchiveWorld world(kCells);
    ForgetfulDisk disk(world.scratch());
    disk.before = [cut_at](int operation) {
      if (operation == cut_at) throw PowerCut();
    };
    std::set<int> acknowledged;
    world.files = &disk;
    CHECK_THROWS_AS(run(world, attempts, [&](int cell) { acknowledged.insert(cell); }), PowerCut);
    world.close();
    disk.cut_power(world.path());
    check_has(world, acknowledged);
    WatchedFiles files;
    world.files = &files;
    run(world, attempts, [](int) {});
    reference.check_same_results(world.path());
  }
}

}  // namespace

TEST_CASE("a process killed ahead of any of its changes loses no cell that it acknowledged",
          "[archive][crash]") {
  kill_ahead_of_each_change(kAlone);
}

TEST_CASE("a process killed ahead of any of its changes loses no cell that others are stored with",
          "[archive][crash]") {
  kill_ahead_of_each_change(kTogether);
}

TEST_CASE("a run killed at random instants and resumed each time ends as one that was not",
          "[archive][crash]") {
  const Reference reference;
  std::mt19937 random(7);
  for (int sweep = 0; sweep < support::scaled(3); ++sweep) {
    ArchiveWorld world(kCells);
    WatchedFiles files;
    world.files = &files;
    std::set<int> acknowledged;
    int kills = 0, status = -1;
    while (status != 0) {
      // Longer each time, so that the run ends: after some twenty kills, however slow the machine.
      const auto most = static_cast<unsigned>(reference.micros() * ++kills / 16 + 1);
      const auto micros = static_cast<suseconds_t>(1 + random() % most);
      for (const int cell : acknowledged_by(
               [&](const auto& say) {
                 ::signal(SIGALRM, [](int) { ::kill(::getpid(), SIGKILL); });
                 const itimerval timer{{0, 0}, {micros / 1'000'000, micros % 1'000'000}};
                 ::setitimer(ITIMER_REAL, &timer, nullptr);
                 run(world, kAlone, say);
               },
               status)) {
        CHECK(acknowledged.insert(cell).second);  // no cell runs twice
      }
      check_has(world, acknowledged);
    }
    CHECK(acknowledged.size() <= kCells);
    reference.check_equal(world.path());
  }
}

TEST_CASE("a power cut ahead of any change loses no cell that was acknowledged",
          "[archive][crash]") {
  cut_power_ahead_of_each_change(kAlone);
}

TEST_CASE("a power cut ahead of any change loses no cell that others are stored with",
          "[archive][crash]") {
  cut_power_ahead_of_each_change(kTogether);
}

TEST_CASE(
    "a full disk at any write stops the run with the reason, and it goes on when there is room",
    "[archive][crash]") {
  const Reference reference;
  int unharmed = 0;
  for (int full_at = 1; full_at <= reference.operations(); full_at += support::stride()) {
    INFO("full at change " << full_at);
    ArchiveWorld world(kCells);
    WatchedFiles files;
    world.files = &files;
    files.before = [full_at](int operation) {
      if (operation == full_at) throw FileError("write", "results.h5.d/x", ENOSPC);
    };
    std::set<int> acknowledged;
    try {
      run(world, kAlone, [&](int cell) { acknowledged.insert(cell); });
      ++unharmed;
    } catch (const ArchiveWriteFailed& error) {
      CHECK_THAT(error.what(), Catch::Matchers::Contains("No space left on device"));
      CHECK_THAT(error.what(), Catch::Matchers::Contains(world.path()));
    }
    check_has(world, acknowledged);
    run(world, kAlone, [](int) {});
    reference.check_same_results(world.path());
  }
  // Of each cell that is stored the mark stays for the next start.
  if (support::stride() == 1) CHECK(unharmed == kCells);
}

TEST_CASE("a disk that is full while HDF5 writes leaves the archive as it was",
          "[archive][crash]") {
  ArchiveWorld world(kCells);
  WatchedFiles files;
  world.files = &files;
  world.open();
  for (int cell = 0; cell < kCells; ++cell) world.commit(cell);
  const std::string before = sha256_of_file(world.path());
  const auto room = static_cast<rlim_t>(std::filesystem::file_size(world.path()));
  int status = 0;
  acknowledged_by(
      [&](const auto&) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{room + 4096, room + 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
          world.archive().merge();
        } catch (const ArchiveWriteFailed& error) {
          const bool says_why =
              std::string(error.what()).find("File too large") != std::string::npos;
          leave(says_why ? 42 : 43);
        }
      },
      status);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
  CHECK(sha256_of_file(world.path()) == before);
  world.archive().finalize();
  CHECK(check_archive(world.path()) == std::vector<std::string>{});
}

TEST_CASE("a folder that cannot be written is an error before anything is changed", "[archive]") {
  class ReadOnly : public FileOps {
    void make_folder(const std::string& path) override {
      throw FileError("make the folder", path, EROFS);
    }
  } read_only;
  ArchiveWorld world(1);
  world.files = &read_only;
  CHECK_THAT(error_of<ArchiveWriteFailed>([&] { world.open(); }),
             Catch::Matchers::Contains("Read-only file system"));
  CHECK_FALSE(std::filesystem::exists(world.path()));
}
