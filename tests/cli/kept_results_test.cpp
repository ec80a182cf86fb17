// A sweep that is run with another setting into the archive that it has.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::Program;
using Words = std::vector<std::string>;

namespace {

/// tiny.h5 has the results of jps = 3.
class Kept : public Program {
 public:
  Kept() { said({"run", "tiny.toml"}); }

  std::string said(const Words& words) const {
    const support::Outcome outcome = run(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return outcome.out;
  }
};

}  // namespace

TEST_CASE("results of another --set stay in the archive, and every command says so") {
  const Kept sweep;
  for (const Words& words :
       {Words{"run", "tiny.toml", "--set", "jps=2"}, Words{"run", "tiny.toml", "--set", "jps=2"},
        Words{"table", "tiny.h5"}})
    CHECK_THAT(sweep.said(words),
               Contains("2 results are kept from another setting: kvsweep status lists them"));
  CHECK_THAT(sweep.said({"plan", "tiny.toml", "--archive", "tiny.h5", "--set", "jps=2"}),
             Contains("In the archive 2 results are kept from another setting.\n"));
  CHECK_THAT(sweep.said({"status", "tiny.h5"}),
             StartsWith("tiny: 2/2 done") &&
                 Contains("kept from another setting: gpu=h100-80gb policy=fcfs jps=3\n") &&
                 Contains("kept from another setting: gpu=h100-80gb policy=continuum jps=3\n"));
  CHECK(nlohmann::json::parse(sweep.said({"status", "tiny.h5", "--json"}))["kept"] == 2);
  CHECK_THAT(sweep.said({"table", "tiny.h5", "--only", "jps=3"}), Contains("\n  3  mean"));
  CHECK_THAT(sweep.said({"check", "tiny.h5"}), StartsWith("ok: 4 cells, 4 with a result"));
}

TEST_CASE("a setting that comes back has its results, and the other one's are kept") {
  const Kept sweep;
  sweep.said({"run", "tiny.toml", "--set", "jps=2"});
  const std::string again = sweep.said({"run", "tiny.toml"});
  CHECK_THAT(again, Contains("2 of 2 cells have a result; "
                             "2 results are kept from another setting: "));
}

TEST_CASE("a kept result whose label a planned cell has is told by what the plan changes") {
  const Kept sweep;
  sweep.said({"run", "tiny.toml", "--set", "policy=fcfs", "--set", "engine.block_size=32"});
  CHECK_THAT(sweep.said({"status", "tiny.h5"}),
             Contains("kept from another setting: gpu=h100-80gb policy=fcfs jps=3: changed: "
                      "engine.block_size 16 -> 32\n") &&
                 Contains("kept from another setting: gpu=h100-80gb policy=continuum jps=3\n"));
}

TEST_CASE("results of an axis's value that the file lacks are kept") {
  const Kept sweep;
  std::string file = support::kTinySweep;
  file.replace(file.find("[\"fcfs\", \"continuum\"]"), 21, "[\"continuum\", \"pin\"]");
  sweep.write("tiny.toml", file);
  CHECK_THAT(sweep.said({"run", "tiny.toml"}), Contains("1 result is kept from another setting: "));
  CHECK_THAT(sweep.said({"table", "tiny.h5"}), Contains("fcfs") && Contains("pin"));
}
