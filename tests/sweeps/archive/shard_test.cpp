#include "sweeps/archive/shard.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "sweeps/archive/names.hpp"
#include "sweeps/files/sha256.hpp"
#include "sweeps/hdf5/h5.hpp"
#include "sweeps/hdf5/packed_tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

namespace {

std::string complaint(const std::string& path, const std::string& key) {
  return error_of<ArchiveError>([&] { open_shard(path).load(key); });
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Shard {
 public:
  const ArchiveWorld world{4};
  const std::string bytes = world.bytes(3);
  const std::string path = world.scratch() + "/shard.h5";
};

}  // namespace

TEST_CASE("a shard gives back everything that a cell left behind", "[archive]") {
  const Shard shard;
  write_file(shard.path, shard.bytes);
  const ShardContents made = shard.world.result(3),
                      read = open_shard(shard.path).load(shard.world.key(3));
  for (std::size_t i = 0; i < kCellTables.size(); ++i) {
    CHECK(same_results(*made.tables()[i], *read.tables()[i]));
  }
  CHECK(read.record.axes == made.record.axes);
  CHECK(read.record.run.wall_s == made.record.run.wall_s);
  CHECK(read.result.figures.at(1).is_volatile);
  CHECK(read.result.figures.at(0).unit == "s");
  CHECK(read.result.notes.at(0).text == "auto");
}

TEST_CASE("a shard has tables of KV accesses if its cell logged any, and gives them back",
          "[archive]") {
  const ArchiveWorld world{4};
  const std::string path = world.scratch() + "/shard.h5";
  ShardContents contents = world.result(3);
  KvAccessRow access;
  access.kind = KvAccessKind::write_value;
  access.block = 7;
  access.saturated = true;
  contents.result.kv_access = to_table<KvAccessRow>({&access, 1});
  write_file(path, shard_bytes(contents));
  const Table read = open_shard(path).load(world.key(3)).result.kv_access;
  CHECK(same_results(read, contents.result.kv_access));
  CHECK(read.values<std::int32_t>("block") == std::vector<std::int32_t>{7});
  CHECK(read.column("kind").enum_names.at(3) == "write_value");
}

TEST_CASE("a shard is formed without writing any file", "[archive]") {
  ArchiveWorld world(1);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit nothing{0, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &nothing);
  std::string bytes;
  CHECK_NOTHROW(bytes = shard_bytes(world.result(0)));
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK_NOTHROW(check_seal(bytes, "it"));
}

TEST_CASE("a table of a shard that lost its end, or says another size, is an error", "[archive]") {
  const Table steps = ArchiveWorld(1).result(0).result.steps;
  const Table* const tables[] = {&steps};
  const std::string bytes = pack_tables(tables);
  CHECK(same_results(PackedTables(bytes).read("steps"), steps));
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    REQUIRE_THROWS_AS(PackedTables(bytes.substr(0, size)), H5Error);
  CHECK_THROWS_WITH(PackedTables(bytes).read("turns"), "it has no table turns");
}

TEST_CASE("a shard of a later version is refused and left alone", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.close();
  const std::string mark = "kvsweep tables 1\n", made = world.bytes(0),
                    rest = made.substr(mark.size(), made.size() - mark.size() - kTrailerBytes);
  REQUIRE(made.starts_with(mark));
  std::filesystem::create_directory(world.spool());
  write_file(world.shard(0), sealed("kvsweep tables 2\n" + rest));
  CHECK(error_of<ArchiveIncompatible>([&] { world.open(); }) ==
        world.shard(0) +
            " has tables of version 2, and this program reads version 1; a newer kvsweep wrote it");
  CHECK(std::filesystem::exists(world.shard(0)));
}

TEST_CASE("one flipped bit anywhere in a shard is detected", "[archive]") {
  const Shard shard;
  std::mt19937 random(11);
  for (int flip = 0; flip < support::scaled(300); ++flip) {
    std::string damaged = shard.bytes;
    const std::size_t at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    INFO("byte " << at);
    REQUIRE_THROWS_AS(check_seal(damaged, "it"), ArchiveDamaged);
  }
}

TEST_CASE("a shard cut short anywhere is detected", "[archive]") {
  const Shard shard;
  std::mt19937 random(12);
  for (int cut = 0; cut < support::scaled(300); ++cut) {
    const std::size_t size = random() % shard.bytes.size();
    REQUIRE_THROWS_AS(check_seal(shard.bytes.substr(0, size), "it"), ArchiveDamaged);
  }
}

TEST_CASE("the worked example of the format of tables is read as it says", "[archive]") {
  constexpr std::string_view kTail(
      "\x23\0\0\0\0\0\0\0\x66\0\0\0\0\0\0\0"
      "\x78\x01\x63\x64\x80\x80\x12\x46\x28\x03\x46\xe7\x41\xf9\x38\x29\x16\xa8\x4c\x66\x5e\x89"
      "\x05\x4c\x13\x3a\xcd\x0b\x55\x03\x00\x82\xfa\x02\x7d"
      "\x78\x01\x63\x07\x00\x00\x08\x00\x08\x08\xeb\x24\xfc",
      64);
  const Table read = PackedTables((std::string(kTablesMark) += kTablesVersion) += kTail).read("t");
  CHECK(read.values<std::int8_t>("n") == std::vector<std::int8_t>{7});
}

TEST_CASE("a shard of another cell, or no shard at all, is refused by name", "[archive]") {
  const Shard shard;
  write_file(shard.path, shard.bytes);
  CHECK(complaint(shard.path, "abc") ==
        shard.path + " is damaged: it holds the cell " + shard.world.key(3));
  write_file(shard.path, "");
  CHECK(complaint(shard.path, "abc") ==
        shard.path + " is damaged: truncated: found 0 bytes, a shard has at least 87");
}

TEST_CASE("the digest is that of the results: volatile parts and columns of nothing do not count",
          "[archive]") {
  const ArchiveWorld world(2);
  const auto digest = [](const ShardContents& contents) {
    ShardContents told = contents;
    told.record.figures = contents.result.figures;
    told.record.notes = contents.result.notes;
    return content_digest(told);
  };
  const ShardContents original = world.result(1);
  ShardContents same = original;
  same.record.run.host = "elsewhere";
  same.result.figures[1].value = 5;
  same.result.figures.push_back({"unknown", kNotObserved, "s", false});
  std::reverse(same.result.steps.columns.begin(), same.result.steps.columns.end());
  same.result.steps.columns.push_back(
      {"later", "", "", false, {}, std::vector<std::int32_t>(original.result.steps.rows(), 0)});
  CHECK(digest(same) == digest(original));

  ShardContents figure = original, note = original, row = original, status = original;
  figure.result.figures[0].value += 1e-9;
  note.result.notes[0].text += "!";
  std::get<std::vector<std::int32_t>>(row.result.steps.columns[3].data)[7] += 1;
  status.record.status = CellStatus::timeout;
  for (const ShardContents* changed : {&figure, &note, &row, &status}) {
    CHECK(digest(*changed) != digest(original));
  }
}
