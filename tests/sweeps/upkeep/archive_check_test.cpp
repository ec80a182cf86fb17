#include "sweeps/upkeep/upkeep.hpp"

#include <filesystem>
#include <fstream>
#include <random>

#include "sweeps/archive/reader.hpp"
#include "sweeps/hdf5/h5_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

#ifdef __SANITIZE_ADDRESS__
// HDF5 forgets some of its own memory when a file turns out to be damaged.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
#endif

namespace {

/// A finished archive of three cells.
class Finished : public ArchiveWorld {
 public:
  explicit Finished(const std::vector<int>& cells = {0, 1, 2}, const std::string& what = "")
      : ArchiveWorld(3) {
    variant = what;
    open();
    run_all(cells);
    close();
  }
  std::string problems() const {
    std::string all;
    for (const std::string& problem : check_archive(path())) all += problem + "\n";
    return all;
  }
  /// Overwrites one number of the archive, with its checksums, as a program with a bug would.
  template <class T>
  void change(const std::string& table, const std::string& column, hsize_t row, T value) const {
    H5File file = open_h5_for_writing(path());
    {
      const H5Group group(H5Gopen2(file.get(), table.c_str(), H5P_DEFAULT), "open " + table);
      const H5Dataset dataset(H5Dopen2(group.get(), column.c_str(), H5P_DEFAULT), "open " + column);
      const H5Type type(H5Dget_type(dataset.get()), "get a type");
      const hsize_t one = 1;
      const H5Space all(H5Dget_space(dataset.get()), "get a space"),
          single(H5Screate_simple(1, &one, nullptr), "make a space");
      h5_check(H5Sselect_hyperslab(all.get(), H5S_SELECT_SET, &row, nullptr, &one, nullptr),
               "select");
      h5_check(H5Dwrite(dataset.get(), type.get(), single.get(), all.get(), H5P_DEFAULT, &value),
               "write");
    }
    file.close_checked("close " + path());
  }
};

std::string merge_error(const std::string& a, const std::string& b, const std::string& target) {
  return error_of<ArchiveError>([&] { merge_archives(a, b, target); });
}

}  // namespace

TEST_CASE("a changed number is reported with its cell, though all checksums are right",
          "[archive]") {
  const Finished world;
  CHECK(world.problems().empty());
  world.change("steps", "t_s", 25, 0.5);  // the second cell's: the first has 20 rows
  CHECK_THAT(world.problems(), Contains("cell 1 (") && Contains("do not have their digest"));
}

TEST_CASE("a changed row of the cells is reported", "[archive]") {
  const Finished world;
  world.change("cells", "seed", 1, std::int64_t{43});
  CHECK_THAT(world.problems(), Contains("the table cells does not have the digest beside it"));
}

TEST_CASE("what a reader makes of an archive with flipped bits is right, or refused", "[archive]") {
  const Finished world;
  const std::string whole = file_bytes(world.path()), intact = world.path() + ".intact";
  std::filesystem::copy_file(world.path(), intact);
  std::mt19937 random(5);
  int refused = 0;
  for (int trial = 0; trial < support::scaled(60); ++trial) {
    std::string damaged = whole;
    char& byte = damaged[random() % damaged.size()];
    byte = static_cast<char>(byte ^ 1 << random() % 8);
    std::ofstream(world.path(), std::ios::binary) << damaged;
    const bool is_whole = check_archive(world.path()).empty();
    try {
      const auto differences = archive_differences(world.path(), intact);
      CHECK(differences.empty());
    } catch (const ArchiveDamaged&) {
      CHECK_FALSE(is_whole);
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("a sweep file without its SHA-256 makes an archive unreadable", "[archive]") {
  const Finished world;
  H5File file = open_h5_for_writing(world.path());
  {
    const H5Group spec(H5Gopen2(file.get(), "spec", H5P_DEFAULT), "open spec");
    h5_check(H5Ldelete(spec.get(), "toml", H5P_DEFAULT), "remove the sweep file");
    write_text(spec.get(), "toml", "schema = 2");
  }
  file.close_checked("close " + world.path());
  CHECK_THAT(error_of<ArchiveDamaged>([&] { ArchiveReader reader(world.path()); }),
             Contains("the sweep file in it does not have the SHA-256 beside it"));
  CHECK_THAT(world.problems(), Contains("the sweep file in it"));
}

TEST_CASE("rows that carry another cell's number are reported", "[archive]") {
  const Finished world;
  world.change("steps", "cell", 3, std::int32_t{2});
  CHECK_THAT(world.problems(), Contains("its rows in the table steps carry another cell's number"));
}

TEST_CASE("a value that its enumeration has no name for is reported", "[archive]") {
  const Finished world;
  world.change("sched", "kind", 0, std::int8_t{99});
  CHECK_THAT(world.problems(), Contains("sched/kind holds 99, which has no name"));
}

TEST_CASE("a bit that flips anywhere in an archive is reported, or changes nothing that is read",
          "[archive]") {
  const Finished world, untouched;
  const std::string whole = file_bytes(world.path());
  std::mt19937 random(3);
  int reported = 0;
  for (int flip = 0; flip < support::scaled(60); ++flip) {
    std::string damaged = whole;
    const std::size_t at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    std::ofstream(world.path(), std::ios::binary) << damaged;
    INFO("byte " << at);
    if (!world.problems().empty()) {
      ++reported;
    } else {
      CHECK(archive_differences(world.path(), untouched.path()).empty());
    }
  }
  CHECK(reported > 0);
}

TEST_CASE("a shard that is not whole is a problem of its archive", "[archive]") {
  ArchiveWorld world(2);
  world.open();
  world.commit(1);
  CHECK(check_archive(world.path()).empty());
  std::filesystem::resize_file(world.shard(1), 100);
  REQUIRE(check_archive(world.path()).size() == 1);
  CHECK_THAT(check_archive(world.path())[0], Contains(world.shard(1) + " is damaged"));
}

TEST_CASE("two halves of a sweep merge into the whole, whichever is named first", "[archive]") {
  const Finished whole, a({1}), b({2, 0});
  const std::string ab = a.scratch() + "/ab.h5", ba = a.scratch() + "/ba.h5";
  merge_archives(a.path(), b.path(), ab);
  merge_archives(b.path(), a.path(), ba);
  CHECK(archive_differences(ab, whole.path()).empty());
  CHECK(archive_differences(ab, ba).empty());
  const H5File left = open_h5(ab), right = open_h5(ba);
  for (const char* table : {"cells", "provenance"}) {  // volatile columns too
    CHECK(table_digest(read_table(left.get(), table)) ==
          table_digest(read_table(right.get(), table)));
  }
  CHECK(check_archive(ab).empty());
}

TEST_CASE("archives that agree on a cell merge, and archives that contradict each other do not",
          "[archive]") {
  const Finished a({0, 1}), agrees({1, 2}), contradicts({1, 2}, "matic");
  const std::string target = a.scratch() + "/c.h5";
  CHECK_THAT(merge_error(a.path(), contradicts.path(), target),
             Contains("different results of gpu=a100-40gb jps=1"));
  CHECK_FALSE(std::filesystem::exists(target));
  merge_archives(a.path(), agrees.path(), target);
  CHECK(check_archive(target).empty());
  CHECK_THAT(merge_error(a.path(), agrees.path(), target), Contains("exists already"));
}

TEST_CASE("archives of different sweeps do not merge", "[archive]") {
  const Finished a;
  ArchiveWorld b(3);
  b.options.spec_text += "# changed\n";
  b.open();
  CHECK_THAT(merge_error(a.path(), b.path(), a.scratch() + "/c.h5"),
             Contains("different texts of the sweep \"order-or-retention\""));
  b.options.sweep_name = "another";
  std::filesystem::remove(b.path());
  b.open();
  CHECK_THAT(merge_error(a.path(), b.path(), a.scratch() + "/c.h5"),
             Contains("\"order-or-retention\" and \"another\""));
}

TEST_CASE("a description that another program changed is reported, though its checksum is right",
          "[archive]") {
  const Finished world;
  {
    H5File file = open_h5_for_writing(world.path());
    {
      const H5Dataset column(H5Dopen2(file.get(), "steps/n_tok", H5P_DEFAULT), "open a column");
      h5_check(H5Adelete(column.get(), "unit"), "replace a unit");
      write_attribute(column.get(), "unit", "s");
    }
    file.close_checked("close " + world.path());
  }
  CHECK_THAT(world.problems(), Contains("it has no spare copy at its end"));
}

TEST_CASE("an archive that lost its end is refused by whatever opens it", "[archive]") {
  Finished world;
  std::filesystem::resize_file(world.path(), std::filesystem::file_size(world.path()) - 500);
  const std::string refused = "spare copy at its end";
  CHECK_THAT(world.problems(), Contains(refused));
  CHECK_THAT(error_of<ArchiveDamaged>([&] { ArchiveReader(world.path()); }), Contains(refused));
  CHECK_THAT(error_of<ArchiveDamaged>([&] { world.open(); }), Contains(refused));
}

TEST_CASE("a key that leads out of the folder of shards is refused", "[archive]") {
  const std::string key = "../../" + std::string(58, 'f');  // as long as a key
  ArchiveWorld world(2);
  world.plan[1].key = key;
  CHECK_THAT(error_of<ArchiveError>([&] { world.open(); }), Contains(key + "\" is no key"));
}
