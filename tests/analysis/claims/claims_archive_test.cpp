#include <cmath>
#include <filesystem>

#include "analysis/claims/claims.hpp"
#include "tests/support/catch.hpp"
#include "tests/sweeps/archive/archive_world.hpp"

using analysis::ClaimReport;
using analysis::Verdict;

namespace {

/// A folder like sweeps/, with one set of claims.
struct Folder {
  explicit Folder(const std::string& claims) {
    std::filesystem::create_directory(dir.path() / "claims");
    dir.write("claims/mine.toml", claims);
  }
  support::TempDir dir;
};

std::string claim(const std::string& metric, const std::string& more) {
  return "[C]\nsays = \"x\"\nsource = \"y\"\nrepeats = 1\nmetric = \"" + metric + "\"\n" + more;
}

}  // namespace

TEST_CASE("claims are judged over the figures and tables of archives", "[claims]") {
  ArchiveWorld world(4), other(6);
  world.open();
  world.run_all({0, 1, 2, 3});
  world.close();
  other.open();
  other.run_all({4, 5});
  other.close();
  const auto judged = [&](const std::string& text) {
    const Folder folder(text);
    const ClaimReport report =
        analysis::run_claims({world.path(), other.path()}, "mine", folder.dir.path());
    REQUIRE(report.rows.size() == 1);
    return report.rows.front();
  };
  CHECK(judged(claim("jct_wall_mean_s", "where.jps = 2\nlow = 3\nhigh = 3\n")).verdict ==
        Verdict::reproduced);
  CHECK(judged(claim("jct_wall_mean_s", "where.jps = 5\nlow = 7.5\nhigh = 7.5\n")).verdict ==
        Verdict::reproduced);
  double sum = 0;
  for (int i = 0; i < 23; ++i) sum += 1 + (i * 37 + 3) % 2048;
  CHECK(judged(claim("step_mean:n_tok", "where.jps = 3\nlow = 0\n")).ours.value ==
        Approx(sum / 23));
  CHECK(judged(claim("sum:jct_wall_mean_s", "pooled = true\nlow = 22.5\nhigh = 22.5\n")).verdict ==
        Verdict::reproduced);
}

TEST_CASE("a set's published numbers come from the file of its name alone", "[claims]") {
  const Folder folder(
      "[C]\nsays = \"x\"\nsource = \"y\"\nmetric = \"m\"\nlow = 0\n"
      "where = { gpu = \"card\", jps = 1, policy = \"fcfs\" }\n");
  std::filesystem::create_directory(folder.dir.path() / "published");
  const auto published = [&](const std::string& name, const std::string& value) {
    folder.dir.write(
        "published/" + name + ".toml",
        "source = \"" + name + "\"\nmetric = \"m\"\n[card]\njps-1 = { fcfs = " + value + " }\n");
  };
  published("another", "7");
  const auto judged = [&] { return analysis::run_claims({}, "mine", folder.dir.path()); };
  CHECK(std::isnan(judged().rows.front().point->published));
  published("mine", "5");
  const ClaimReport report = judged();
  CHECK(report.rows.front().point->published == 5);
  CHECK(report.sources == std::vector<std::string>{"mine"});
}
