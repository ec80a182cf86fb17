#include "sweeps/upkeep/check.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "sweeps/archive/reader.hpp"
#include "sweeps/hdf5/column.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using namespace sweep;
using Catch::Matchers::Contains;

#ifdef __SANITIZE_ADDRESS__
// HDF5 forgets some of its own memory when a file turns out to be damaged.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
// It also copies what such a file tells it to; that it then crashes is what is tested here.
extern "C" const char* __asan_default_suppressions() { return "interceptor_via_lib:libhdf5"; }
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
      const H5Dataset dataset = open_column(group.get(), column);
      const H5Type type(H5Dget_type(dataset.get()), "get a type");
      write_bytes(dataset.get(), type.get(), row, 1, reinterpret_cast<const char*>(&value), column);
    }
    file.close_checked("close " + path());
  }
};

std::string merge_error(const std::string& a, const std::string& b, const std::string& target) {
  return error_of<ArchiveError>([&] { merge_archives(a, b, target); });
}

/// Flips single bits of what an archive stores without checksums.
class FlippedBits {
 public:
  explicit FlippedBits(const std::string& archive) : path_(archive), whole_(file_bytes(archive)) {}
  const std::string& whole() const { return whole_; }
  bool is_reported(std::size_t byte, unsigned bit) const {
    std::string bytes = whole_;
    bytes[byte] = static_cast<char>(bytes[byte] ^ 1 << bit);
    std::ofstream(path_, std::ios::binary) << bytes;
    return !check_archive(path_).empty();
  }
  /// Where a mark stands that is reported when it is changed: others are of what was replaced.
  std::vector<std::size_t> places(const std::string& mark, std::size_t most) const {
    std::vector<std::size_t> found;
    for (std::size_t at = whole_.find(mark); at != whole_.npos && found.size() < most;
         at = whole_.find(mark, at + 1))
      if (is_reported(at, 0)) found.push_back(at);
    return found;
  }

 private:
  std::string path_, whole_;
};

std::uint64_t read_word(const std::string& bytes, std::size_t at) {
  std::uint64_t word = 0;
  REQUIRE(at + sizeof word <= bytes.size());
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
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
  CHECK_THAT(world.problems(), Contains("the table cells does not have the digest in the footer"));
}

TEST_CASE("any flipped bit of an index of chunks is reported", "[archive]") {
  const Finished world;
  const FlippedBits bits(world.path());
  constexpr std::size_t kUsed = 24 + 24 + 8 + 24;  // a node with one chunk between two keys
  const auto nodes = bits.places("TREE", static_cast<std::size_t>(support::scaled(4)));
  REQUIRE(!nodes.empty());
  std::mt19937 random(5);
  for (const std::size_t node : nodes) {
    for (int i = 0; i < 8; ++i) {
      const std::size_t byte = random() % kUsed;
      const unsigned bit = random() % 8;
      INFO("bit " << bit << " of byte " << byte << " of the node at " << node);
      CHECK(bits.is_reported(node + byte, bit));
    }
  }
}

TEST_CASE("any flipped bit that says where a heap's texts and its free space lie is reported",
          "[archive]") {
  const Finished world;
  const FlippedBits bits(world.path());
  const auto heaps = bits.places("GCOL", 8);
  REQUIRE(!heaps.empty());
  const auto word = [&bits](std::size_t at) { return read_word(bits.whole(), at); };
  std::mt19937 random(5);
  int free_spaces = 0;
  for (const std::size_t heap : heaps) {
    const std::size_t end = heap + word(heap + 8);
    std::vector<std::size_t> leads = {heap};  // the heap's, each object's, the free space's
    for (std::size_t at = heap + 16; at + 16 <= end; at += 16 + (word(at + 8) + 7) / 8 * 8) {
      leads.push_back(at);
      if (word(at) != 0) continue;
      ++free_spaces;
      break;
    }
    for (const std::size_t lead : {leads.front(), leads[leads.size() / 2], leads.back()}) {
      const std::size_t byte = lead + random() % 16;
      const unsigned bit = random() % 8;
      INFO("bit " << bit << " of byte " << byte << " of the heap at " << heap);
      CHECK(bits.is_reported(byte, bit));
    }
    for (const unsigned bit : {3U, 7U}) CHECK(bits.is_reported(leads.back() + 15, bit));
  }
  CHECK(free_spaces > 0);
}

TEST_CASE("a heap with a hole of zeros is reported, and does not keep its reader forever",
          "[archive]") {
  const Finished world;
  const FlippedBits bits(world.path());
  for (const std::size_t heap : bits.places("GCOL", 8)) {
    std::string damaged = bits.whole();
    const std::size_t second = heap + 32 + (read_word(damaged, heap + 24) + 7) / 8 * 8;
    damaged.replace(second, 512, 512, '\0');
    std::ofstream(world.path(), std::ios::binary) << damaged;
    CHECK_THAT(world.problems(),
               Contains("the heap of texts at byte " + std::to_string(heap) + " has"));
  }
}

TEST_CASE("no archive with a damaged index of chunks is read", "[archive]") {
  const Finished world;
  const FlippedBits bits(world.path());
  const auto error = [&](std::size_t byte, int bit) {
    std::string damaged = bits.whole();
    damaged[byte] = static_cast<char>(damaged[byte] ^ bit);
    std::ofstream(world.path(), std::ios::binary) << damaged;
    return error_of<ArchiveDamaged>([&] { ArchiveReader reader(world.path()); });
  };
  for (const std::size_t node : bits.places("TREE", 30)) {
    const std::size_t offset = node + 24 + 8;  // the first chunk's
    CHECK_THAT(error(offset, 4), Contains("is damaged"));
    CHECK_THAT(error(offset + 1, 64), Contains("is damaged"));  // by the rows of a chunk
  }
}

TEST_CASE("a bit that hides a chunk from HDF5 changes no result that is read", "[archive]") {
  const Finished world;
  const std::string whole = file_bytes(world.path()), intact = world.path() + ".intact";
  std::filesystem::copy_file(world.path(), intact);
  int refused = 0;
  for (std::size_t at = whole.find("TREE"); at != whole.npos; at = whole.find("TREE", at + 1)) {
    std::string damaged = whole;
    damaged[at + 24 + 8 + 1] ^= 64;  // moves the first chunk by the rows of a chunk
    std::ofstream(world.path(), std::ios::binary) << damaged;
    try {
      const auto differences = archive_differences(world.path(), intact);
      CHECK(differences.empty());
    } catch (const ArchiveDamaged&) {
      ++refused;
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("no archive with a changed text in a heap is read", "[archive]") {
  const Finished world;
  const FlippedBits bits(world.path());
  const auto places = bits.places(world.options.now_utc, 1);
  REQUIRE(!places.empty());
  std::string damaged = bits.whole();
  damaged[places.front()] ^= 1;
  std::ofstream(world.path(), std::ios::binary) << damaged;
  CHECK_THAT(error_of<ArchiveDamaged>([&] { ArchiveReader reader(world.path()); }),
             Contains("are not described as the footer says"));
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

TEST_CASE("a changed description of a column is reported, though no checksum covers it",
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
  CHECK_THAT(world.problems(), Contains("its tables are not described as the footer says"));
  CHECK_THAT(damage_in(world.path()), Contains("are not described as the footer says"));
}

TEST_CASE("what keeps a run from going on with an archive shows before it starts", "[archive]") {
  const Finished world;
  CHECK(damage_in(world.path()).empty());
  CHECK(damage_in(world.path() + ".none").empty());
  std::filesystem::resize_file(world.path(), 3000);
  CHECK_THAT(damage_in(world.path()), Contains("is damaged"));
}

TEST_CASE("a key that leads out of the folder of shards is refused", "[archive]") {
  const std::string key = "../../" + std::string(58, 'f');  // as long as a key
  ArchiveWorld world(2);
  world.plan[1].key = key;
  CHECK_THAT(error_of<ArchiveError>([&] { world.open(); }), Contains(key + "\" is no key"));
}
