// Archives and shards that a program of schema 1.0 has left, made from today's by taking away what
// came later.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sweeps/archive/reader.hpp"
#include "sweeps/hdf5/codec.hpp"
#include "sweeps/hdf5/h5_table.hpp"
#include "sweeps/upkeep/upkeep.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;

namespace {

const std::vector<std::string> kLaterStepColumns = {"window",         "forward",    "host_blk_used",
                                                    "host_blk_total", "n_loading",  "n_again_tok",
                                                    "stall_s",        "h2d_busy_s", "d2h_busy_s"};

void remove_columns(Table& table, const std::vector<std::string>& names) {
  std::erase_if(table.columns, [&](const Column& column) {
    return std::find(names.begin(), names.end(), column.name) != names.end();
  });
}

/// Tables that came later.
std::span<const std::string_view> later_tables() {
  return std::span(kCellTables).subspan(kEarliestTables);
}

void remove_later_columns(Table& cells) {
  remove_columns(cells, {"record"});
  for (const std::string_view table : later_tables())
    remove_columns(cells, {std::string(table) + "_off", std::string(table) + "_n"});
}

template <class Value>
void replace_attribute(hid_t object, const std::string& name, const Value& value) {
  h5_check(H5Adelete(object, name.c_str()), "remove " + name);
  write_attribute(object, name, value);
}

void age_archive(const std::string& path) {
  H5File file = open_h5_for_writing(path);
  replace_attribute(file.get(), "schema_major", std::int64_t{1});
  replace_attribute(file.get(), "schema_minor", std::int64_t{0});
  if (has_object(file.get(), "steps")) {
    const H5Group steps(H5Gopen2(file.get(), "steps", H5P_DEFAULT), "open steps");
    std::vector<std::string> left = read_texts_attribute(steps.get(), "columns");
    for (const std::string& name : kLaterStepColumns) {
      remove_object(steps.get(), name);
      std::erase(left, name);
    }
    replace_attribute(steps.get(), "columns", left);
  }
  Table cells = read_table(file.get(), "cells");
  remove_later_columns(cells);
  std::vector<std::vector<std::string>> parts;
  {
    const H5Group group(H5Gopen2(file.get(), "cells", H5P_DEFAULT), "open cells");
    for (const char* part : {"axes", "figures", "notes"})
      parts.push_back(read_texts_attribute(group.get(), part));
  }
  remove_object(file.get(), "cells");
  write_table(file.get(), cells);
  const H5Group group(H5Gopen2(file.get(), "cells", H5P_DEFAULT), "open cells");
  write_attribute(group.get(), "axes", parts[0]);
  write_attribute(group.get(), "figures", parts[1]);
  write_attribute(group.get(), "notes", parts[2]);
  h5_check(H5Adelete(file.get(), "cells_sha256"), "remove the digest");
  write_text(file.get(), "footer", "");
  const H5Dataset footer(H5Dopen2(file.get(), "footer", H5P_DEFAULT), "open the footer");
  write_attribute(footer.get(), "cells_sha256", table_digest(cells));
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The bytes of a file that is kept deflated beside this one.
std::string kept(const std::string& name, std::size_t size) {
  const std::string packed = bytes_of(KVSWEEP_SOURCE_DIR "/tests/sweeps/archive/" + name);
  std::string bytes(size, '\0');
  REQUIRE(inflate_to(bytes, packed));
  return bytes;
}

/// Cells 0 and 2 of four are done.
void half_done(ArchiveWorld& world) {
  world.open();
  world.run_all({0, 2});
  world.close();
}

void check_cells_1_to_3(ArchiveWorld& world, const std::vector<int>& done) {
  world.open(OpenMode::resume);
  CHECK(world.warnings.empty());
  CHECK(world.done() == done);
}

}  // namespace

TEST_CASE("an archive of schema 1.0 is whole, and what came later holds nothing", "[archive]") {
  ArchiveWorld world(4);
  half_done(world);
  age_archive(world.path());
  CHECK(check_archive(world.path()).empty());
  ArchiveReader reader(world.path());
  const ShardContents cell = reader.load(2);
  CHECK(cell.result.evictions.rows() == 0);
  CHECK(cell.result.evictions.has("t_resume_s"));
  CHECK(cell.result.steps.values<std::int64_t>("step").size() == 22);
  CHECK(cell.result.steps.values<std::int32_t>("window") == std::vector<std::int32_t>(22, 0));
  CHECK(std::isnan(cell.result.steps.values<double>("stall_s").at(21)));
  CHECK(reader.load_table(2, "evictions").rows() == 0);
  CHECK(reader.load_table(2, "steps").has("forward"));
}

TEST_CASE("a run goes on with an archive of schema 1.0, and it gets what it lacks", "[archive]") {
  ArchiveWorld world(4);
  half_done(world);
  age_archive(world.path());
  check_cells_1_to_3(world, {0, 2});
  world.run_all({3, 1});
  world.close();
  CHECK(check_archive(world.path()).empty());
  ArchiveReader reader(world.path());
  CHECK(reader.load(1).record.digest == reader.cells()[1].digest);
  const H5File file = open_h5(world.path());
  CHECK(read_integer_attribute(file.get(), "schema_major") == 2);
}

TEST_CASE("an archive of schema 1.0 keeps its results under another order of cells", "[archive]") {
  ArchiveWorld world(4);
  half_done(world);
  age_archive(world.path());
  std::swap(world.plan[0], world.plan[3]);
  world.plan[0].index = 0;
  world.plan[3].index = 3;
  world.open(OpenMode::resume);
  CHECK(world.done() == std::vector<int>{2, 0});
  world.close();
  CHECK(check_archive(world.path()).empty());
}

TEST_CASE("an archive of schema 2.3 is read, and salvaged by its spare copy if HDF5 cannot read it",
          "[archive][salvage]") {
  std::string bytes = kept("kept-2.3.h5.zlib", 172'858);
  const support::TempDir folder;
  const std::string whole = folder.write("whole.h5", bytes);
  CHECK(check_archive(whole).empty());
  std::fill_n(bytes.begin(), 48, 'x');  // the superblock
  const std::string path = folder.write("damaged.h5", bytes),
                    target = (folder.path() / "saved.h5").string();
  const Salvage salvage = salvage_archive(path, target);
  CHECK(salvage.lost.empty());
  CHECK(salvage.saved == 2);
  CHECK(check_archive(target).empty());
  CHECK(archive_differences(whole, target) == std::vector<std::string>{});
}

TEST_CASE("an archive of a schema between two releases is refused, and the message says what to do",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.run_all({0});
  world.close();
  {
    const H5File file = open_h5_for_writing(world.path());
    replace_attribute(file.get(), "schema_minor", std::int64_t{1});
  }
  const std::string before = bytes_of(world.path()),
                    why = world.path() +
                          " has schema 2.1, which no release has written, and this program reads 1 "
                          "and from 2.2 on: `kvsweep merge " +
                          world.path() +
                          " -o NEW.h5` of an earlier build, of schema 2.2, writes it anew";
  CHECK(error_of<ArchiveIncompatible>([&] { ArchiveReader reader(world.path()); }) == why);
  CHECK(error_of<ArchiveIncompatible>([&] { world.open(OpenMode::resume); }) == why);
  CHECK(check_archive(world.path()) == std::vector{why});
  CHECK(bytes_of(world.path()) == before);
}

TEST_CASE("results that an earlier program left beside an archive are refused and left alone",
          "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.close();
  std::filesystem::create_directory(world.spool());
  for (const char* start : {"\x89HDF\r\n\x1a\n", "kvsweep tables\n"}) {
    std::ofstream(world.shard(0), std::ios::binary) << sealed(start);
    CHECK(error_of<ArchiveIncompatible>([&] { world.open(); }) ==
          world.shard(0) + " was written by an earlier kvsweep: end its run with that program");
    CHECK(std::filesystem::exists(world.shard(0)));
  }
}

TEST_CASE("an archive that a program of schema 1.7 wrote is read, and a run writes it anew",
          "[archive]") {
  const std::string bytes = kept("kept-1.7.h5.zlib", 575'610);
  const support::TempDir folder;
  const std::string path = folder.write("kept.h5", bytes), copy = folder.write("copy.h5", bytes);
  CHECK(check_archive(path).empty());
  ArchiveOptions options;
  std::vector<CellRecord> plan;
  {
    ArchiveReader reader(path);
    CHECK(reader.load(1).result.jobs.rows() == 2);
    options.sweep_name = reader.sweep_name();
    options.spec_text = reader.spec_text();
    for (const CellRecord& cell : reader.cells()) plan.push_back(without_outcome(cell));
  }
  CHECK(salvage_archive(path, (folder.path() / "saved.h5").string()).saved == 2);
  std::swap(plan[0], plan[1]);
  FileOps files;
  Archive(path, options, plan, files);
  CHECK(read_integer_attribute(open_h5(path).get(), "schema_major") == 2);
  CHECK(check_archive(path).empty());
  const ArchiveReader before(copy), after(path);
  for (int i = 0; i < 2; ++i)
    CHECK(after.cells().at(static_cast<std::size_t>(i)).digest ==
          before.cells().at(static_cast<std::size_t>(1 - i)).digest);
}

TEST_CASE("a summary of schema 1.5 is a cell at the level jobs, and merges with the whole result",
          "[archive]") {
  ArchiveWorld world(1), whole(1);
  world.open();
  ShardContents summary = world.result(0);
  keep_level(summary, RecordLevel::jobs);
  summary.record.level = RecordLevel::all;  // as a program said that knew no levels
  summary.result.notes.push_back({"summary_of", std::string(64, 'a')});
  world.archive().commit(world.key(0), shard_bytes(summary));
  world.archive().finalize();
  world.close();
  age_archive(world.path());
  CHECK(ArchiveReader(world.path()).cells()[0].level == RecordLevel::jobs);
  CHECK(check_archive(world.path()).empty());
  whole.open();
  whole.run_all({0});
  whole.close();
  const ArchiveComparison compared = compare_archives(world.path(), whole.path());
  CHECK(compared.differences == std::vector<std::string>{});
  CHECK(compared.at_two_levels == 1);
  const std::string target = world.scratch() + "/merged.h5";
  merge_archives(world.path(), whole.path(), target);
  CHECK(archive_differences(target, whole.path()) == std::vector<std::string>{});
}

TEST_CASE("a figure that one of two programs holds for volatile keeps both digests", "[archive]") {
  ArchiveWorld one(2), other(2);
  const auto run = [](ArchiveWorld& world, int cell, bool is_volatile) {
    world.open();
    ShardContents contents = world.result(cell);
    contents.result.figures.push_back({"forwards", 7.0, "", is_volatile});
    contents.result.notes.push_back({"image", "a", !is_volatile});
    world.archive().commit(world.key(cell), shard_bytes(contents));
    world.archive().finalize();
    world.close();
  };
  run(one, 0, false);
  run(other, 1, true);
  const std::string target = one.scratch() + "/merged.h5";
  merge_archives(one.path(), other.path(), target);
  run(one, 1, true);
  for (const std::string& path : {target, one.path()}) {
    CHECK(check_archive(path).empty());
    const ArchiveReader reader(path);
    for (const CellRecord& cell : reader.cells()) {
      REQUIRE(find_named(cell.figures, "forwards") != nullptr);
      CHECK(find_named(cell.figures, "forwards")->value == 7);
      CHECK(find_named(cell.figures, "forwards")->is_volatile == (cell.index == 1));
      CHECK(find_named(cell.notes, "image")->is_volatile == (cell.index == 0));
    }
  }
}

TEST_CASE("a column of rows that one of two programs holds for volatile is named", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.run_all({0});
  ShardContents newer = world.result(1);
  for (Column& column : newer.result.steps.columns)
    if (column.name == "n_tok") column.is_volatile = true;
  world.archive().commit(world.key(1), shard_bytes(newer));
  CHECK_THAT(error_of<ArchiveWriteFailed>([&] { world.archive().finalize(); }),
             Catch::Matchers::Contains("steps/n_tok is volatile in one of two cells alone"));
  CHECK(world.done() == std::vector{0, 1});
}
