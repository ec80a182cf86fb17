// Which driver has an archive.
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

TEST_CASE("a second driver is refused, and told which process has the archive", "[archive]") {
  ArchiveWorld world(1);
  world.open();
  FileOps files;
  const std::string error = error_of<ArchiveInUse>(
      [&] { Archive second(world.path(), world.options, world.plan, files); });
  CHECK_THAT(error, Contains("is in use by process " + std::to_string(world.options.self.pid) +
                             " on host node-1 (SLURM job 4711)"));
  world.commit(0);
  CHECK(world.done().size() == 1);
}

TEST_CASE("a driver that may wait gets the archive when the other one is done", "[archive]") {
  ArchiveWorld world(1);
  world.open();
  FileOps files;
  int asked = 0;
  ArchiveOptions options = world.options;
  options.keep_waiting = [&](const LockHolder& holder) {
    CHECK(holder.host == "node-1");
    if (++asked == 3) world.close();
    return true;
  };
  const Archive second(world.path(), options, world.plan, files);
  CHECK(asked == 3);
}
