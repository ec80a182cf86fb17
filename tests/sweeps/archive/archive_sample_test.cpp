// Not part of the default run: writes the archive that archive_python_test.py reads.
#include <cstdlib>
#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

TEST_CASE("an archive for the snippets of the documentation is written", "[.sample]") {
  const char* target = std::getenv("KVSWEEP_SAMPLE_ARCHIVE");
  REQUIRE(target != nullptr);
  ArchiveWorld world(6);
  world.options.provenance = {{"command", "kvsweep run matrix.toml", true}};
  world.open();
  world.run_all({4, 2, 0, 1});  // two cells stay planned
  world.close();
  std::filesystem::copy_file(world.path(), target);
}
