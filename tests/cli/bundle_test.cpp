#include <filesystem>
#include <fstream>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Outcome;
using support::Program;

namespace {

namespace fs = std::filesystem;

/// A packed archive of two small cells, in the folder `bundle`.
struct Bundle {
  Bundle() {
    program.write("tiny.toml", support::kTinySweep);
    REQUIRE(program.run({"run", "tiny.toml", "--archive", "t.h5"}).exit_code == 0);
    const Outcome packed = program.run({"pack", "t.h5", "-o", "bundle"});
    INFO(packed.err);
    REQUIRE(packed.exit_code == 0);
  }
  Outcome verified(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"verify", "bundle"};
    words.insert(words.end(), more.begin(), more.end());
    return program.run(words);
  }
  /// Replaces the first `from` in a file of the bundle, whose digest the manifest then has.
  void change(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = program.read("bundle/" + name);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    program.write("bundle/" + name, text);
  }
  Program program;
};

}  // namespace

TEST_CASE("a bundle is judged as it was packed, and its simulated cells run again") {
  const Bundle bundle;
  const Outcome outcome = bundle.verified();
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("2 of 2 simulated cells run again, with equal figures"));
  CHECK_THAT(outcome.out, Contains("1 archives hold what cells recorded"));
  CHECK_THAT(bundle.program.read("bundle/README.md"), Contains("kvsweep verify ."));
}

TEST_CASE("cells that no time is left for are counted, and nothing fails for them") {
  const Bundle bundle;
  const Outcome outcome = bundle.verified({"--minutes", "0"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("2 simulated cells left for lack of time"));
}

TEST_CASE("a file that was changed, is missing or was added is named, and the bundle is damaged") {
  {
    const Bundle bundle;
    bundle.change("README.md", "Results", "results");
    const Outcome outcome = bundle.verified();
    CHECK(outcome.exit_code == 5);
    CHECK_THAT(outcome.out, Contains("README.md is not what was packed"));
  }
  const Bundle bundle;
  fs::rename(bundle.program.file("bundle/archives/t.h5"),
             bundle.program.file("bundle/archives/u.h5"));
  const Outcome outcome = bundle.verified();
  CHECK(outcome.exit_code == 5);
  CHECK_THAT(outcome.out, Contains("archives/t.h5 is missing"));
  CHECK_THAT(outcome.out, Contains("archives/u.h5 was not packed"));
}

TEST_CASE("an expected verdict, and a profile, that do not fit the archives are found") {
  const Bundle bundle;
  const auto digest_of = [&](const std::string& name) {
    const std::string text = bundle.program.read("bundle/manifest.toml");
    const std::size_t at = text.find('"' + name + "\" = \"") + name.size() + 6;
    return text.substr(at, 64);
  };
  const auto sign = [&](const std::string& name) {
    // The digest that `verify` finds becomes the manifest's, as in a forged bundle.
    const std::string command = "sha256sum " + bundle.program.file("bundle/" + name) +
                                " | cut -c1-64 > " + bundle.program.file("digest");
    REQUIRE(std::system(command.c_str()) == 0);
    bundle.change("manifest.toml", digest_of(name), bundle.program.read("digest").substr(0, 64));
  };
  const std::string claims = bundle.program.read("bundle/expected/claims.csv");
  const std::string verdict = claims.substr(claims.rfind('\n', claims.size() - 2) + 1, 8);
  bundle.change("expected/claims.csv", verdict, "another " + verdict);
  sign("expected/claims.csv");
  Outcome outcome = bundle.verified();
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.out,
             Contains("expected/claims.csv: line ") && Contains(", expected another " + verdict));
  bundle.change("sweeps/gpus/h100-80gb.toml", "base_ms = ", "base_ms = 1");
  sign("sweeps/gpus/h100-80gb.toml");
  outcome = bundle.verified();
  CHECK_THAT(outcome.out, Contains("2 not run again: profiles or files are not what they were"));
}

TEST_CASE("a folder that is no bundle, and a manifest of another schema, are refused") {
  const Bundle bundle;
  CHECK(bundle.program.run({"verify", "nothing"}).exit_code == 2);
  bundle.change("manifest.toml", "schema = 1", "schema = 2");
  const Outcome outcome = bundle.verified();
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err,
             Contains("schema must be 1: the bundle is of another version of kvsweep"));
  bundle.change("manifest.toml", "schema = 2", "schema = 1");
  bundle.change("manifest.toml", "\"README.md\"", "\"../t.h5\"");
  CHECK_THAT(bundle.verified().err, Contains("must name a file below the bundle's folder"));
}

TEST_CASE("pack keeps what is there, and takes no two archives of one name") {
  const Bundle bundle;
  CHECK_THAT(bundle.program.run({"pack", "t.h5", "-o", "bundle"}).err, Contains("exists already"));
  const Outcome twice = bundle.program.run({"pack", "t.h5", "t.h5", "-o", "other"});
  CHECK(twice.exit_code == 2);
  CHECK_THAT(twice.err, Contains("two archives are named t.h5"));
  CHECK_FALSE(bundle.program.exists("other"));
  CHECK_FALSE(bundle.program.exists("other.partial"));
  CHECK(bundle.program.run({"pack", "missing.h5", "-o", "other"}).exit_code == 2);
}
