#include "sweeps/commits/archive.hpp"
#include "sweeps/archive/file.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "sweeps/archive/reader.hpp"
#include "sweeps/commits/marks.hpp"
#include "sweeps/definition/input_file.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/h5_table.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

namespace {

std::vector<int> count_to(int n) {
  std::vector<int> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

/// Changes an attribute of the archive, as a program of another version would have written it.
void set_integer(const std::string& path, const std::string& name, std::int64_t value) {
  H5File file = open_h5_for_writing(path);
  h5_check(H5Adelete(file.get(), name.c_str()), "remove " + name);
  write_attribute(file.get(), name, value);
  file.close_checked("close " + path);
}

}  // namespace

TEST_CASE("an archive is there, readable and listing every planned cell, before any cell has run",
          "[archive]") {
  ArchiveWorld world(3);
  world.open();
  const ArchiveReader reader(world.path());
  CHECK(reader.cells().size() == 3);
  CHECK(reader.cells()[2].status == CellStatus::planned);
  CHECK(reader.cells()[2].label == world.plan[2].label);
  CHECK(reader.spec_text() == world.options.spec_text);
}

TEST_CASE(
    "a finished sweep is one closed file, with every row of every cell, and nothing beside it",
    "[archive]") {
  ArchiveWorld world(5);
  world.open().merge_if_due();
  world.run_all({3, 0, 4, 1, 2});
  world.close();
  CHECK_FALSE(exists(world.spool()));
  ArchiveReader reader(world.path());
  for (int cell = 0; cell < 5; ++cell) {
    const ShardContents stored = reader.load(cell), made = world.result(cell);
    CHECK(stored.record.status == CellStatus::ok);
    CHECK(stored.record.run.host == made.record.run.host);
    CHECK(stored.result.figures.at(0).value == made.result.figures.at(0).value);
    for (std::size_t table = 0; table < kCellTables.size(); ++table) {
      CHECK(same_results(*stored.tables()[table], *made.tables()[table]));
    }
  }
  CHECK(check_archive(world.path()).empty());
}

TEST_CASE("a committed cell is there for a reader before any merge, and for a resumed run",
          "[archive]") {
  ArchiveWorld world(3);
  world.open();
  world.commit(1);
  CHECK(exists(world.shard(1)));
  CHECK(ArchiveReader(world.path()).cells()[1].status == CellStatus::ok);
  CHECK(ArchiveReader(world.path()).load(1).result.steps.rows() == 21);
  world.open();
  CHECK(world.done() == std::vector<int>{1});
  CHECK_FALSE(exists(world.shard(1)));
}

TEST_CASE("the finished archive does not depend on the order of commits, on merges or on restarts",
          "[archive]") {
  const int n = 9;
  ArchiveWorld straight(n), shuffled(n);
  straight.open();
  straight.run_all(count_to(n));
  shuffled.open();
  for (const int cell : {7, 2, 8}) shuffled.commit(cell);
  shuffled.open();
  for (const int cell : {0, 5}) shuffled.commit(cell);
  shuffled.archive().merge();
  shuffled.commit(6);
  shuffled.open();
  shuffled.run_all({4, 1, 3});
  CHECK(archive_differences(straight.path(), shuffled.path()).empty());
  const H5File a = open_h5(straight.path()), b = open_h5(shuffled.path());
  for (const std::string_view table : {"jobs", "steps", "sched"}) {
    CHECK(same_results(read_table(a.get(), std::string(table)),
                       read_table(b.get(), std::string(table))));
  }
}

TEST_CASE("shards are merged when there are more than 64, unless the sweep is nearly done",
          "[archive]") {
  ArchiveWorld many(140, 1), few(100, 1);
  many.open();
  few.open();
  int merges = 0;
  for (int cell = 0; cell < 66; ++cell) {
    many.commit(cell);
    few.commit(cell);
    merges += many.archive().merge_if_due() ? 1 : 0;
    CHECK_FALSE(few.archive().merge_if_due());
  }
  CHECK(merges == 1);
  CHECK(exists(many.shard(65)));
  CHECK_FALSE(exists(many.shard(64)));
}

TEST_CASE(
    "shards that may wait are merged once, in plan order, until they are too many or too large",
    "[archive]") {
  ArchiveWorld files(200, 1), bytes(200, 1), once(90, 1);
  files.options.most_shards = 80;
  bytes.options.most_shards = once.options.most_shards = 1000;
  bytes.options.most_shard_bytes = 1;
  for (ArchiveWorld* world : {&files, &bytes, &once}) world->open();
  const auto merged_with = [](ArchiveWorld& world, int cell) {
    world.commit(cell);
    return world.archive().merge_if_due();
  };
  for (int cell = 0; cell < 64; ++cell) {
    CHECK_FALSE(merged_with(files, cell));
    CHECK_FALSE(merged_with(bytes, cell));
  }
  CHECK(merged_with(bytes, 64));
  for (int cell = 64; cell < 80; ++cell) CHECK_FALSE(merged_with(files, cell));
  CHECK(merged_with(files, 80));
  for (int cell = 89; cell >= 0; --cell) CHECK_FALSE(merged_with(once, cell));
  once.archive().finalize();
  CHECK_FALSE(exists(once.path() + ".prev"));  // nothing was sorted after the merge
  once.close();
  CHECK(check_archive(once.path()).empty());
}

TEST_CASE("a shard of megabytes, read a table at a time, loses no row in the merge", "[archive]") {
  ArchiveWorld world(1);
  world.options.cores = 3;
  ShardContents large = world.result(0);
  std::mt19937_64 random(1);
  for (Column& column : large.result.steps.columns) {
    std::visit([](auto& values) { values.resize(100'000); }, column.data);
    if (auto* numbers = std::get_if<std::vector<double>>(&column.data))
      for (double& number : *numbers) number = static_cast<double>(random()) * 1e-15;
  }
  const std::string bytes = shard_bytes(large);
  REQUIRE(bytes.size() > std::size_t{4} << 20);
  world.open();
  world.archive().commit(world.key(0), bytes);
  world.archive().finalize();
  ArchiveReader reader(world.path());
  CHECK(same_results(reader.load_table(0, "steps"), large.result.steps));
  CHECK(same_results(reader.load_table(0, "jobs"), large.result.jobs));
}

TEST_CASE("a cell that failed is kept with its reason, and a later result replaces it",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  ShardContents failed;
  failed.record = world.planned(0);
  failed.record.status = CellStatus::failed;
  failed.record.reason = "out of memory";
  failed.record.run.attempts = 1;
  world.archive().commit(world.key(0), shard_bytes(failed));
  world.open();
  CHECK(world.archive().cells()[0].status == CellStatus::failed);
  CHECK(world.archive().cells()[0].reason == "out of memory");
  world.run_all({0, 1});
  CHECK(world.done() == std::vector<int>{0, 1});
  CHECK(world.archive().cells()[0].reason.empty());
  CHECK(check_archive(world.path()).empty());
}

TEST_CASE("a cell runs once: a second result of it is refused", "[archive]") {
  ArchiveWorld world(1);
  world.open();
  world.commit(0);
  CHECK_THAT(error_of<ArchiveError>([&] { world.commit(0); }), Contains("has a result already"));
}

TEST_CASE("bytes that arrive damaged, or as another cell's, are refused and leave nothing behind",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  std::string bytes = world.bytes(0);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  CHECK_THAT(error_of<ArchiveDamaged>([&] { world.archive().commit(world.key(0), bytes); }),
             Contains("do not have the SHA-256"));
  CHECK_THAT(
      error_of<ArchiveDamaged>([&] { world.archive().commit(world.key(0), world.bytes(1)); }),
      Contains("it holds the cell " + world.key(1)));
  CHECK_THAT(error_of<ArchiveError>([&] { world.archive().commit("unknown", world.bytes(1)); }),
             Contains("the cell unknown is not in the plan"));
  CHECK(world.done().empty());
  world.commit(0);
  CHECK(world.done() == std::vector<int>{0});
}

TEST_CASE("a truncated or flipped shard is set aside with a message, and its cell is planned again",
          "[archive]") {
  ArchiveWorld world(3);
  world.open();
  for (const int cell : {0, 1, 2}) world.commit(cell);
  world.close();
  std::filesystem::resize_file(world.shard(0), std::filesystem::file_size(world.shard(0)) / 2);
  {
    std::fstream file(world.shard(1), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3000);
    file.put('?');
  }
  world.open();
  CHECK(world.done() == std::vector<int>{2});
  REQUIRE(world.warnings.size() == 2);
  CHECK_THAT(world.warnings[0] + world.warnings[1],
             Contains("checksum, is missing") && Contains("do not have the SHA-256"));
  CHECK(exists(world.shard(0) + ".damaged"));
  world.run_all({0, 1});
  CHECK(check_archive(world.path()).empty());
}

TEST_CASE("resuming with nothing to do leaves the archive as it is, byte for byte", "[archive]") {
  ArchiveWorld world(3);
  world.options.provenance = {{"command", "kvsweep run", true}};
  world.open();
  world.run_all({0, 1, 2});
  world.close();
  const std::string before = sha256_of_file(world.path());
  world.options.provenance = {{"command", "kvsweep run again", true}};
  world.open().finalize();
  CHECK(sha256_of_file(world.path()) == before);
}

TEST_CASE("every run that finished a cell is a row of the provenance, also one that was killed",
          "[archive]") {
  ArchiveWorld world(3);
  for (const int cell : {0, 1, 2}) {
    world.options.provenance = {{"command", "run " + std::to_string(cell), true},
                                {"host", "n", true}};
    world.open();
    world.commit(cell);
  }
  world.open().finalize();
  const Table provenance = ArchiveReader(world.path()).provenance();
  CHECK(provenance.values<std::string>("command") ==
        std::vector<std::string>{"run 0", "run 1", "run 2"});
}

TEST_CASE("an archive that is no archive of this sweep and program is refused and left alone",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.run_all({0, 1});
  world.close();
  std::string expected;
  SECTION("no HDF5") {
    std::ofstream(world.path()) << "this is not HDF5";
    expected = "it is not an HDF5 file";
  }
  SECTION("another sweep") {
    world.options.sweep_name = "another";
    expected = "holds the sweep \"order-or-retention\", not \"another\"";
  }
  SECTION("a newer schema") {
    set_integer(world.path(), "schema_major", 7);
    expected = "has schema 7, and this program reads schemas up to 2";
  }
  SECTION("truncated") {
    std::filesystem::resize_file(world.path(), std::filesystem::file_size(world.path()) / 2);
    expected = "is damaged";
  }
  SECTION("no digest of the cells") {
    H5File file = open_h5_for_writing(world.path());
    h5_check(H5Adelete(file.get(), "cells_sha256"), "remove the digest");
    file.close_checked("close");
    expected = "is damaged: cannot open the footer";
  }
  SECTION("a table that lost rows") {
    H5File file = open_h5_for_writing(world.path());
    remove_object(file.get(), "jobs");
    write_table(file.get(),
                Table{"jobs", {{"cell", "", "", false, {}, std::vector<std::int32_t>{0}}}});
    file.close_checked("close");
    expected = "it has no spare copy at its end";
  }
  const std::string before = sha256_of_file(world.path());
  CHECK_THAT(error_of<ArchiveError>([&] { world.open(); }), Contains(expected));
  CHECK(sha256_of_file(world.path()) == before);
  CHECK_FALSE(exists(world.spool()));
}

TEST_CASE("a newer minor schema is read", "[archive]") {
  ArchiveWorld world(1);
  world.open();
  world.run_all({0});
  world.close();
  set_integer(world.path(), "schema_minor", 8);
  CHECK(open_archive_file(world.path()).index.cells.size() == 1);
}

TEST_CASE("a fresh start moves what was there aside and deletes nothing", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  world.archive().finalize();
  world.commit(1);
  world.open(OpenMode::fresh);
  CHECK(world.done().empty());
  CHECK(ArchiveReader(world.path() + ".old1").cells()[0].status == CellStatus::ok);
  CHECK(ArchiveReader(world.path() + ".old1").cells()[1].status == CellStatus::ok);
  world.open(OpenMode::fresh);
  CHECK(exists(world.path() + ".old2"));
}

TEST_CASE("resuming insists on an archive", "[archive]") {
  ArchiveWorld world(1);
  CHECK_THAT(error_of<ArchiveError>([&] { world.open(OpenMode::resume); }),
             Contains("there is no archive"));
}

TEST_CASE("a table gains the columns and names that a newer program adds to a cell", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  world.archive().merge();
  ShardContents newer = world.result(1);
  const std::size_t rows = newer.result.steps.rows();
  newer.result.steps.columns.push_back(
      {"power_w", "W", "power draw", false, {}, std::vector<double>(rows, 300)});
  newer.result.jobs.columns.push_back(
      {"tenant", "", "who sent it", false, {}, std::vector<std::string>{"lab"}});
  for (Column& column : newer.result.steps.columns) {
    if (column.name == "stop_reason") column.enum_names.push_back("novel");
  }
  world.archive().commit(world.key(1), shard_bytes(newer));
  world.archive().finalize();
  CHECK(check_archive(world.path()).empty());
  ArchiveReader reader(world.path());
  CHECK(std::isnan(reader.load_table(0, "steps").values<double>("power_w").front()));
  CHECK(reader.load_table(1, "steps").values<double>("power_w").front() == 300);
  CHECK(reader.load_table(0, "jobs").values<std::string>("tenant").front().empty());
  CHECK(reader.load_table(0, "steps").column("stop_reason").enum_names.back() == "novel");
}

TEST_CASE("a reader goes on with a cell when its shard is merged while it reads", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  ArchiveReader reader(world.path());
  CHECK(reader.shards() == 1);
  const CellRecord& record = reader.cells()[0];
  const std::string label = record.label;
  world.archive().merge();
  CHECK(reader.load(0).result.steps.rows() == 20);
  CHECK(&reader.cells()[0] != &record);  // callers may still point to the earlier records
  CHECK(record.label == label);
}

TEST_CASE("the archive of a sweep can be replaced while HDF5 readers hold it open", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(0);
  const H5File reader(H5Fopen(world.path().c_str(), H5F_ACC_RDONLY, h5_access().get()), "open");
  world.run_all({1});
  const H5File after(H5Fopen(world.path().c_str(), H5F_ACC_RDONLY, h5_access().get()), "open");
  CHECK(read_integer_attribute(reader.get(), "n_ok") == 0);
  CHECK(read_integer_attribute(after.get(), "n_ok") == 2);
  CHECK(read_integer_attribute(after.get(), "complete") == 1);
}
