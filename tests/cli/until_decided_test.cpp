#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Outcome;
using support::Program;

namespace {

/// Two policies: alike at the small rate, and not told apart by three repeats at the other.
const std::string kWinners = R"(schema = 1
[sweep]
name = "winners"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "job_fcfs"]
jps = [0.01, 8.0]
[repeat]
n = 7
[engine]
kv_tokens = 60000
[workload]
kind = "swe_smith_like"
jobs = 12
)";

Outcome decide(const Program& program, std::vector<std::string> more = {},
               const std::string& archive = "w.h5") {
  std::vector<std::string> words = {"run", "winners.toml", "--until-decided", "--archive", archive};
  words.insert(words.end(), more.begin(), more.end());
  return program.run(words);
}

}  // namespace

TEST_CASE("repeats are spent where the winner is undecided") {
  const Program program;
  program.write("winners.toml", kWinners);
  const Outcome found = decide(program);
  INFO(found.err << found.out);
  REQUIRE(found.exit_code == 0);
  CHECK_THAT(found.err, Contains("run --until-decided: round 1, 0 of 2 winners decided, 12 cells"));
  std::map<std::string, int> repeats;
  for (const auto& row : support::rows_of(program, "w.h5", "cells"))
    if (row.at("status") == "ok")
      ++repeats[row.at("policy").get<std::string>() + row.at("jps").dump()];
  CAPTURE(repeats);
  CHECK(repeats.size() == 4);
  for (const auto& [place, count] : repeats)
    CHECK((place.ends_with("0.01") ? count == 3 : count > 3));

  SECTION("again, and killed on the way, it has the same cells") {
    const Outcome again = decide(program);
    CHECK(again.out == found.out);
    CHECK(again.err.empty());
    program.write("once.sh",
                  "if [ -e once ]; then exec \"$@\"; fi; touch once\n"
                  "\"$@\" --time-limit 0 --workers 1; kill -KILL $$\n");
    CHECK(decide(program, {"--launch", "sh once.sh"}, "k.h5").exit_code != 0);
    CHECK(decide(program, {"--launch", "sh once.sh"}, "k.h5").exit_code == 0);
    CHECK(program.run({"check", "--equal", "w.h5", "k.h5"}).exit_code == 0);
  }
  SECTION("a budget ends it before the round that it does not reach") {
    const Outcome small = decide(program, {"--budget", "11"}, "b.h5");
    CHECK(small.exit_code == 75);
    CHECK_THAT(small.err, Contains("the budget of 11 cells leaves 2 of 2 winners undecided: the "
                                   "next round needs 12;"));
    CHECK_FALSE(program.exists("b.h5"));
  }
}

TEST_CASE("until-decided chooses its cells itself, of four repeats or more") {
  const Program program;
  program.write("winners.toml", kWinners);
  const Outcome only = decide(program, {"--only", "jps=1"});
  CHECK(only.exit_code == 2);
  CHECK_THAT(only.err, Contains("--until-decided chooses the cells itself"));
  const Outcome few = decide(program, {"--set", "repeat.n=3"});
  CHECK(few.exit_code == 2);
  CHECK_THAT(few.err, Contains("[repeat] n must be 4 or more, found 3"));
  std::string live = kWinners;
  live.replace(live.find("jps = [0.01, 8.0]"), 17, "\"workload.live\" = [2, 3]");
  program.write("winners.toml", live + "arrivals = \"live\"\n");
  const Outcome alike = decide(program);
  CHECK(alike.exit_code == 2);
  CHECK_THAT(alike.err, Contains("live agents are the same in each"));
  const Outcome plain = program.run({"run", "winners.toml", "--budget", "3"});
  CHECK(plain.exit_code == 2);
  CHECK_THAT(plain.err, Contains("--budget and --launch are for --until-decided"));
}
