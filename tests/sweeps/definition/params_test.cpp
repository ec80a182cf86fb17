#include "sweeps/definition/params.hpp"

#include <limits>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/messages.hpp"

using namespace sweep;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A file of one table; messages come back with the folder cut off.
class Document {
 public:
  explicit Document(const std::string& text)
      : path_(folder_.write("m.toml", text)),
        params_(load_flat_toml(path_)),
        reader(params_, "m.toml") {}

  template <class Action>
  std::string complaint(Action action) {
    std::string message = message_of([&] { action(reader); });
    const std::string folder = folder_.path().string() + "/";
    if (message.starts_with(folder)) message.erase(0, folder.size());
    return message;
  }

 private:
  support::TempDir folder_;
  std::string path_;
  ParamMap params_;

 public:
  ParamReader reader;
};

std::string load_complaint(const std::string& text) {
  support::TempDir folder;
  const std::string message = message_of([&] { load_flat_toml(folder.write("m.toml", text)); });
  return message.substr(message.find("m.toml"));
}

}  // namespace

TEST_CASE("values are printed as TOML reads them back") {
  CHECK(to_text(Value(true)) == "true");
  CHECK(to_text(Value(std::int64_t{-7})) == "-7");
  CHECK(to_text(Value(0.1)) == "0.1");
  CHECK(to_text(Value(3.0)) == "3.0");
  CHECK(to_text(Value(1e300)) == "1e+300");
  CHECK(to_text(Value(std::string("a \"b\"\\\n\x01"))) == R"("a \"b\"\\\n\u0001")");
}

TEST_CASE("a place outside a file is shown without a line") {
  CHECK(to_text(Location{"--set", 0, 0}) == "--set");
  CHECK(to_text(Location{"a.toml", 3, 9}) == "a.toml:3:9");
}

TEST_CASE("nested tables become dotted keys, each with the place of its key") {
  support::TempDir folder;
  const std::string path = folder.write("m.toml", "top = 1\n[a]\nx = 2.5\n  b.c = \"w\"\n");
  const ParamMap params = load_flat_toml(path);
  REQUIRE(params.size() == 3);
  CHECK(params.at("top").value == Value(std::int64_t{1}));
  CHECK(params.at("a.x").value == Value(2.5));
  CHECK(params.at("a.b.c").value == Value(std::string("w")));
  CHECK(params.at("a.b.c").where.line == 4);
  CHECK(params.at("a.x").where.file.text() == path);
}

TEST_CASE("a file of scalars refuses what is not one, with its place") {
  CHECK(load_complaint("a = 1\nlist = [1, 2]\n") ==
        "m.toml:2:1: list must be a boolean, an integer, a float or a string, found an array");
  CHECK(
      load_complaint("[t]\nday = 2024-01-01\n") ==
      "m.toml:2:1: t.day must be a boolean, an integer, a float or a string, found a date or time");
  CHECK(load_complaint("a.b = 1\n\"a.b\" = 2\n").substr(0, 13) == "m.toml:2:1: a");
}

TEST_CASE("broken TOML is reported with file, line and column") {
  const std::string message = load_complaint("a = 1\nb = = 2\n");
  INFO(message);
  CHECK(message.starts_with("m.toml:2:5: "));
}

TEST_CASE("a missing file and a folder are each called what they are") {
  support::TempDir folder;
  const std::string missing = (folder.path() / "none.toml").string();
  CHECK(message_of([&] { load_flat_toml(missing); }) ==
        missing + ": cannot be read: No such file or directory");
  CHECK(message_of([&] { load_flat_toml(folder.path().string()); }) ==
        folder.path().string() + ": cannot be read: it is a folder");
}

TEST_CASE("values are read with their types, and fallbacks where the key is absent") {
  Document d("b = true\ni = 16\nf = 0.5\ns = \"word\"\n");
  CHECK(d.reader.boolean("b", false));
  CHECK(d.reader.integer("i", 0, 1, 1024) == 16);
  CHECK(d.reader.number("f", 0, 0, 1) == 0.5);
  CHECK(d.reader.number("i", 0, 0, 100) == 16.0);
  CHECK(d.reader.text("s", "") == "word");
  CHECK(d.reader.choice("s", "other", {"word", "other"}) == "word");
  CHECK(d.reader.integer("absent", 3, 1, 2) == 3);
  CHECK(d.reader.choice("absent too", "none", {"x"}) == "none");
  CHECK_NOTHROW(d.reader.reject_unknown());
}

TEST_CASE("a value of the wrong type is named with what was found and what is expected") {
  Document d("[engine]\nblock_size = \"big\"\nrate = true\nname = 3\nflag = 0.5\n");
  CHECK(d.complaint([](auto& r) { r.integer("engine.block_size", 16, 1, 9); }) ==
        "m.toml:2:1: engine.block_size must be an integer, found the string \"big\"");
  CHECK(d.complaint([](auto& r) { r.number("engine.rate", 1, 0, 9); }) ==
        "m.toml:3:1: engine.rate must be a number, found the boolean true");
  CHECK(d.complaint([](auto& r) { r.text("engine.name", ""); }) ==
        "m.toml:4:1: engine.name must be a string, found the integer 3");
  CHECK(d.complaint([](auto& r) { r.boolean("engine.flag", true); }) ==
        "m.toml:5:1: engine.flag must be true or false, found the float 0.5");
}

TEST_CASE("a value out of range is refused with the range and the value") {
  Document d("[engine]\nblock_size = 0\nrate = -0.5\nodd = nan\n");
  CHECK(d.complaint([](auto& r) { r.integer("engine.block_size", 16, 1, 1024); }) ==
        "m.toml:2:1: engine.block_size must be between 1 and 1024, found 0");
  CHECK(d.complaint([](auto& r) { r.integer("engine.block_size", 16, 1, kMost); }) ==
        "m.toml:2:1: engine.block_size must be at least 1, found 0");
  CHECK(d.complaint([](auto& r) { r.number("engine.rate", 1, 0, kInfinity); }) ==
        "m.toml:3:1: engine.rate must be at least 0, found -0.5");
  CHECK(d.complaint([](auto& r) { r.number("engine.odd", 1, 0, 2.5); }) ==
        "m.toml:4:1: engine.odd must be between 0 and 2.5, found nan");
}

TEST_CASE("a word that is not a choice is refused with the choices and the nearest") {
  Document d("[workload]\nkind = \"agnet8\"\n");
  CHECK(d.complaint([](auto& r) {
    r.choice("workload.kind", "agent8", {"swe_smith_like", "agent8", "trajectories"});
  }) == "m.toml:2:1: workload.kind must be one of \"swe_smith_like\", \"agent8\", "
        "\"trajectories\", found \"agnet8\" (did you mean \"agent8\"?)");
}

TEST_CASE("a key that nobody asks for is unknown, and the nearest asked one is suggested") {
  Document d("[engine]\nblock_size = 16\nblok_size = 16\n");
  d.reader.integer("engine.block_size", 16, 1, 64);
  CHECK(d.complaint([](auto& r) { r.reject_unknown(); }) ==
        "m.toml:3:1: unknown key \"engine.blok_size\" (did you mean \"engine.block_size\"?)");
}

TEST_CASE("an unknown key far from every known one gets no suggestion") {
  Document d("zebra = 1\n");
  d.reader.integer("engine.block_size", 16, 1, 64);
  CHECK(d.complaint([](auto& r) { r.reject_unknown(); }) == "m.toml:1:1: unknown key \"zebra\"");
}

TEST_CASE("a required key that is missing is named with its document") {
  Document d("name = 1\n");
  CHECK(d.reader.integer("name", 0, 1) == 1);
  CHECK(d.complaint([](auto& r) { r.integer("kv_tokens", 0, 1); }) ==
        "m.toml: the key \"kv_tokens\" is missing");
}

TEST_CASE("a failure found by the caller is reported at the key's place with its value") {
  Document d("a = 1\nsize = 24\n");
  CHECK(d.complaint([](auto& r) { r.fail("size", "must be a power of two"); }) ==
        "m.toml:2:1: size must be a power of two, found 24");
  CHECK(d.complaint([](auto& r) { r.fail("absent", "must be given with size"); }) ==
        "m.toml: absent must be given with size");
}

TEST_CASE("the nearest word is found across slips, swaps, capitals, prefixes and missing tables") {
  const std::vector<std::string> known = {"engine.block_size", "lmcache", "h100-80gb",
                                          "swe_smith_like"};
  CHECK(did_you_mean("lmcach", known) == "lmcache");
  CHECK(did_you_mean("lmcahce", known) == "lmcache");
  CHECK(did_you_mean("H100-80GB", known) == "h100-80gb");
  CHECK(did_you_mean("swe", known) == "swe_smith_like");
  CHECK(did_you_mean("block_siz", known) == "engine.block_size");
  CHECK(did_you_mean("zzz", known).empty());
  CHECK(did_you_mean("", known).empty());
}

TEST_CASE("what differs in a number, or in more than a slip, is not suggested") {
  const std::vector<std::string> cards = {"a100-40gb", "a100-80gb", "h100-80gb", "l40s-48gb"};
  CHECK(suggestion("a100", {"a100-40gb", "h100-80gb", "a100-80gb"}) ==
        " (did you mean \"a100-40gb\" or \"a100-80gb\"?)");
  CHECK(suggestion("lmcahce", {"lmcache", "lmcachf"}) == " (did you mean \"lmcache\"?)");
  CHECK(did_you_mean("H100_80GB", cards) == "h100-80gb");
  CHECK(did_you_mean("h100", cards) == "h100-80gb");
  CHECK(did_you_mean("h100-80", cards) == "h100-80gb");
  for (const char* other : {"h800-80gb", "v100-32gb", "h100-94gb", "l40-48gb", "a10-40gb"})
    CHECK(did_you_mean(other, cards).empty());
  const std::vector<std::string> words = {"cpu_offload", "jct_wall_p99_s", "workload.gap_s", "max"};
  CHECK(did_you_mean("cpu_offload-128G", words).empty());
  CHECK(did_you_mean("jct_p99", words) == "jct_wall_p99_s");
  CHECK(did_you_mean("jct_p95", words).empty());
  CHECK(did_you_mean("gap", words) == "workload.gap_s");
  CHECK(did_you_mean("rate", words).empty());
  CHECK(did_you_mean("cpu_upload", words).empty());
}

TEST_CASE("a key in a table in which it does not belong is suggested without the table") {
  CHECK(suggestion("workload.jps", {"jps", "workload.jobs", "jps"}) == " (did you mean \"jps\"?)");
  CHECK(suggestion("engine.dram_gb", {"dram_gib"}) == " (did you mean \"dram_gib\"?)");
}
