#include "driver/farm/space_wait.hpp"

#include "sweeps/archive/errors.hpp"
#include "tests/support/catch.hpp"

using driver::SpaceWait;

namespace {

/// A disk that has space again after so many tries.
struct FullDisk {
  int full_for = 0;
  int tries = 0;
  void store() {
    if (tries++ < full_for) throw sweep::ArchiveNoSpace("a.h5: cannot write", "/data");
  }
};

struct Patience {
  std::vector<std::string> said;
  int pauses = 0;
  int interruptions = 0;
  SpaceWait wait(int longest_pauses) {
    SpaceWait wait;
    wait.pause = std::chrono::milliseconds(1);
    wait.longest_s = 1e-3 * longest_pauses;
    wait.interruptions = [this] { return interruptions; };
    wait.say = [this](const std::string& text) { said.push_back(text); };
    wait.on_pause = [this] { ++pauses; };
    return wait;
  }
};

}  // namespace

TEST_CASE("an action without space is repeated until there is some, with one message") {
  Patience patience;
  FullDisk disk{.full_for = 5};
  patience.wait(1000)([&] { disk.store(); });
  CHECK(disk.tries == 6);
  CHECK(patience.pauses == 5);
  CHECK(patience.said ==
        std::vector<std::string>{"no space left in /data; waiting for space, --wait-space 1"});
}

TEST_CASE("where there is space nothing is said") {
  Patience patience;
  FullDisk disk;
  patience.wait(10)([&] { disk.store(); });
  CHECK(disk.tries == 1);
  CHECK(patience.said.empty());
}

TEST_CASE("after the longest wait the error goes on") {
  Patience patience;
  FullDisk disk{.full_for = 100};
  CHECK_THROWS_AS(patience.wait(3)([&] { disk.store(); }), sweep::ArchiveNoSpace);
  CHECK(patience.pauses == 3);
  disk.tries = 0;
  CHECK_THROWS_AS(patience.wait(0)([&] { disk.store(); }), sweep::ArchiveNoSpace);
  CHECK(disk.tries == 1);
}

TEST_CASE("a signal ends the wait; one that came before it does not") {
  Patience patience;
  patience.interruptions = 1;
  FullDisk disk{.full_for = 1000};
  const auto store = [&] {
    if (disk.tries == 4) patience.interruptions = 2;
    disk.store();
  };
  CHECK_THROWS_AS(patience.wait(1000)(store), sweep::ArchiveNoSpace);
  CHECK(disk.tries == 5);
}
