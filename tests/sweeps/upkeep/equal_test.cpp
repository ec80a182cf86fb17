#include "sweeps/archive/reader.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

namespace {

void finish(ArchiveWorld& world, const std::vector<int>& cells = {0, 1, 2}) {
  world.open();
  world.run_all(cells);
  world.close();
}

}  // namespace

TEST_CASE("archives with the same results are equal, whoever ran them", "[archive]") {
  ArchiveWorld a(3);
  finish(a);
  ArchiveWorld b(3);
  b.options.provenance = {{"command", "elsewhere", true}};
  b.open();
  for (const int cell : {2, 1, 0}) {
    ShardContents contents = b.result(cell);
    contents.record.run.host = "another";
    contents.record.run.attempts = 2;
    contents.result.figures[1].value = 77;  // volatile
    b.archive().commit(b.key(cell), shard_bytes(contents));
  }
  CHECK(archive_differences(a.path(), b.path()).empty());
  b.archive().finalize();
  CHECK(archive_differences(a.path(), b.path()).empty());
}

TEST_CASE("the first difference is named with cell, column, row and both values", "[archive]") {
  ArchiveWorld a(3);
  finish(a);
  ArchiveWorld b(3);
  b.open();
  for (const int cell : {0, 1, 2}) {
    ShardContents contents = b.result(cell);
    for (Column& column : contents.result.steps.columns)
      if (cell == 1 && column.name == "dur_s") std::get<std::vector<double>>(column.data)[2] = 0.02;
    b.archive().commit(b.key(cell), shard_bytes(contents));
  }
  b.archive().finalize();
  const std::vector<std::string> found = archive_differences(a.path(), b.path());
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], Contains("cells/digest differs in row 1"));
  CHECK(found[1] == "cell 1 (gpu=a100-40gb jps=1): steps/dur_s differs in row 2: 0.01 and 0.02");
}

TEST_CASE("but for times archives are equal where turns ended in another order, at other times",
          "[archive]") {
  using Turns = std::vector<TurnRow>;
  const auto archive_of = [](ArchiveWorld& world, const Turns& turns, double figure) {
    world.open();
    for (const int cell : {0, 1, 2}) {
      ShardContents contents = world.result(cell);
      contents.result.turns = to_table<TurnRow>(turns);
      contents.result.steps = to_table<StepRow>({});
      contents.result.figures.front().value = figure;
      world.archive().commit(world.key(cell), shard_bytes(contents));
    }
    world.archive().finalize();
  };
  const auto turn = [](std::int32_t job, std::int32_t number, int prompt, double finish) {
    TurnRow row;
    row.job = job;
    row.turn = number;
    row.prompt_tok = prompt;
    row.t_finish_s = finish;
    row.cached_gpu_tok = static_cast<std::int32_t>(finish);
    return row;
  };
  ArchiveWorld a(3), b(3), c(3), d(3);
  archive_of(a, {turn(0, 0, 10, 1), turn(1, 0, 30, 2), turn(0, 1, 20, 3)}, 1);
  archive_of(b, {turn(1, 0, 30, 7), turn(0, 0, 10, 8), turn(0, 1, 20, 9)}, 2);
  archive_of(c, {turn(0, 0, 10, 1), turn(1, 0, 31, 2), turn(0, 1, 20, 3)}, 1);
  archive_of(d, {turn(0, 0, 10, 1), turn(1, 0, 30, 2)}, 1);
  const auto differences = [&](const ArchiveWorld& other) {
    return archive_differences(a.path(), other.path(), Compared::but_times);
  };
  CHECK_FALSE(archive_differences(a.path(), b.path()).empty());
  CHECK(differences(b) == std::vector<std::string>{});
  REQUIRE(differences(c).size() == 3);
  CHECK_THAT(differences(c)[0], Contains("turns/prompt_tok differs in row 2: 30 and 31"));
  REQUIRE(differences(d).size() == 3);
  CHECK_THAT(differences(d)[0], Contains("turns has 3 and 2 rows"));
}

TEST_CASE("a cell that only one archive has run is a difference", "[archive]") {
  ArchiveWorld a(3), b(3);
  finish(a);
  finish(b, {0, 2});
  const std::vector<std::string> found = archive_differences(a.path(), b.path());
  REQUIRE_FALSE(found.empty());
  CHECK_THAT(found[0], Contains("cells/status differs in row 1"));
}

TEST_CASE("of an archive with more cells those that both have are judged, wherever they are",
          "[archive]") {
  ArchiveWorld one(3), many(3);
  finish(one, {1});
  finish(many);
  const ArchiveComparison compared = compare_archives(one.path(), many.path());
  CHECK(compared.differences == std::vector<std::string>{});
  CHECK(compared.in_both == 1);
  CHECK(compared.in_one == 2);
}
